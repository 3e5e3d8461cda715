"""The cures that an operator is shown for a pod: suggestions that were tried, and advice."""

from kschedctl.diagnosis.why.search import suggest
from kschedctl.scheduler.cycle.decision import Decision


def cures(decision: Decision, node: str = "") -> list[str]:
    """Return the summaries of all cures in their order; those that were not tried end with ``(untried)``."""
    ranked = suggest(decision, node=node).ranked
    return [f"{one.summary}{' (untried)' if hasattr(one, 'untried') else ''}" for one in ranked]
