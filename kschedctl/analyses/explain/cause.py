"""The cause for which a pod is not scheduled, in the scheduler's words."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.outcome import Outcome

_NODES_SAY: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")


def cause(decision: Decision) -> str:
    """Return the reason why a pod is not scheduled, and whether preemption would help; empty if it is scheduled."""
    match decision.outcome:
        case Outcome.ERROR:
            return decision.error
        case Outcome.GATED:
            return decision.pre_enqueue.message
        case Outcome.SCHEDULED:
            return ""
    said = _NODES_SAY.match(decision.message)
    why = said[1] if said else decision.message
    helped = decision.preemption is not None and bool(decision.preemption.nominated)
    return f"{why}; preemption would help" if helped else why
