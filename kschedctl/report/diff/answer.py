"""From two explanations of a pod to what changes between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kschedctl.report.diff.data import NodeChangeData, NodeOutcomeData, OutcomeData, Part, PodChangeData, SideOutcome
from kschedctl.report.diff.words import describe
from kschedctl.report.explain.data import Explanation, NodeScoreData
from kschedctl.report.groups import deciding_reasons


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """What one side says of a pod.

    Attributes
    ----------
    explanation : Explanation or None
        The answer; ``None`` where the pod is not there or no profile is responsible for it.
    node_name : str
        Where the pod runs.
    there : bool
        Whether the side has the pod.
    """

    explanation: Explanation | None
    node_name: str = ""
    there: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """What changes for a pod, whatever its name."""

    summary: tuple[str, ...]
    parts: tuple[Part, ...]
    before: OutcomeData
    after: OutcomeData
    nodes: tuple[NodeChangeData, ...]

    def of(self, namespace: str, name: str) -> PodChangeData:
        """The same with the name of a pod."""
        return PodChangeData(namespace, name, self.summary, self.parts, self.before, self.after, self.nodes)


def compare(before: SideAnswer, after: SideAnswer) -> Change | None:
    """Compare what two sides say of a pod.

    A node that is not there counts as one that the pod does not fit on. Of nodes that it does not fit on what
    kube-scheduler stops at is compared, not the numbers behind it, which change from moment to moment.

    Parameters
    ----------
    before, after : SideAnswer
        The sides.

    Returns
    -------
    Change or None
        ``None`` where nothing changes.
    """
    old, new = _outcome(before), _outcome(after)
    known = [_nodes(side.explanation) for side in (before, after)]
    both = before.explanation is not None and after.explanation is not None
    changes = tuple(_node_changes(*known)) if both else ()
    parts = tuple(_parts(old, new, changes))
    if not parts:
        return None
    return Change(describe(old, new, parts, changes), parts, old, new, changes)


def _outcome(side: SideAnswer) -> OutcomeData:
    explanation = side.explanation
    if explanation is None:
        return OutcomeData(SideOutcome.OTHER_SCHEDULER if side.there else SideOutcome.ABSENT, side.node_name)
    verdict, preemption = explanation.verdict, explanation.preemption
    victims = {}
    if preemption is not None:
        victims = {c.name: tuple(sorted(c.victims)) for c in preemption.candidates if c.name in preemption.nominated}
    return OutcomeData(
        outcome=SideOutcome(verdict.result),
        node_name=side.node_name,
        nodes=verdict.nodes,
        feasible_nodes=verdict.feasible_nodes,
        victims=dict(sorted(victims.items())),
        message=explanation.message,
        error=verdict.error,
    )


def _nodes(explanation: Explanation | None) -> dict[str, NodeOutcomeData]:
    if explanation is None:
        return {}
    scores: dict[str, NodeScoreData] = {}
    if explanation.scores is not None:
        scores = {scored.name: scored for scored in explanation.scores.nodes}
    out = {}
    for node in explanation.nodes:
        scored = scores.get(node.name)
        out[node.name] = NodeOutcomeData(
            fits=node.fits,
            plugin=node.plugin,
            reasons=tuple(reason.text for reason in deciding_reasons(node)),
            score=scored.total if scored is not None else None,
            # A plugin that gives nothing is the same as none.
            scores={p: s.weighted for p, s in scored.plugins.items() if s.weighted} if scored is not None else {},
        )
    return out


def _node_changes(before: dict[str, NodeOutcomeData], after: dict[str, NodeOutcomeData]) -> Iterator[NodeChangeData]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old != new and ((old is not None and new is not None) or fits(old) or fits(new)):
            yield NodeChangeData(name, old, new)


def fits(node: NodeOutcomeData | None) -> bool:
    """Whether the pod fits on a node; not on one that is not there."""
    return node is not None and node.fits


def _parts(old: OutcomeData, new: OutcomeData, changes: tuple[NodeChangeData, ...]) -> Iterator[Part]:
    if old.node_name != new.node_name:
        yield Part.PLACE
    if old.outcome != new.outcome or old.error != new.error:
        yield Part.OUTCOME
    if old.nodes != new.nodes:
        yield Part.WINNER
    if old.victims != new.victims:
        yield Part.VICTIMS
    if any(fits(c.before) != fits(c.after) or not (fits(c.before) and fits(c.after)) for c in changes):
        yield Part.NODES
    if any(fits(c.before) and fits(c.after) for c in changes):
        yield Part.SCORES
    if old.message != new.message:
        yield Part.MESSAGE
