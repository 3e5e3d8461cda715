"""From what two sides decide for a pod to what changes between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kschedctl.report.diff.data import NodeChangeData, OutcomeData, Part, PodChangeData, SideOutcome
from kschedctl.report.diff.nodes import NodeChanges, NodeColumns
from kschedctl.report.diff.words import describe
from kschedctl.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """What one side says of a pod.

    Attributes
    ----------
    decision : Decision or None
        The decision; ``None`` where the pod is not there or no profile is responsible for it.
    node_name : str
        Where the pod runs.
    there : bool
        Whether the side has the pod.
    """

    decision: Decision | None
    node_name: str = ""
    there: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """What changes for a pod, whatever its name."""

    summary: tuple[str, ...]
    parts: tuple[Part, ...]
    worse: bool
    before: OutcomeData
    after: OutcomeData
    nodes: tuple[NodeChangeData, ...] | None

    def of(self, namespace: str, name: str) -> PodChangeData:
        """The same with the name of a pod."""
        return PodChangeData(namespace, name, self.summary, self.parts, self.worse, self.before, self.after, self.nodes)


def compare(
    before: SideAnswer, after: SideAnswer, *, tell: Callable[[tuple[str, ...]], bool] = lambda summary: True
) -> Change | None:
    """Compare what two sides say of a pod.

    Parameters
    ----------
    before, after : SideAnswer
        The sides.
    tell : callable
        Whether the nodes of a change with some summary are told one by one.

    Returns
    -------
    Change or None
        ``None`` where nothing changes.
    """
    old, new = _outcome(before), _outcome(after)
    both = before.decision is not None and after.decision is not None
    nodes = NodeChanges(*(_columns(side) if both else None for side in (before, after)))
    parts = tuple(_parts(old, new, nodes))
    if not parts:
        return None
    summary = describe(old, new, parts, nodes)
    return Change(summary, parts, is_worse(old, new), old, new, nodes.data() if tell(summary) else None)


def is_worse(old: OutcomeData, new: OutcomeData) -> bool:
    """Whether a pod that had a node, or would have got one, has none on the second side and gets none."""
    had = bool(old.node_name) or old.outcome is SideOutcome.SCHEDULED
    has = bool(new.node_name) or new.outcome in (SideOutcome.SCHEDULED, SideOutcome.ABSENT)
    return had and not has


def _columns(side: SideAnswer) -> NodeColumns | None:
    return NodeColumns.of(side.decision) if side.decision is not None else None


def _outcome(side: SideAnswer) -> OutcomeData:
    decision = side.decision
    if decision is None:
        return OutcomeData(SideOutcome.OTHER_SCHEDULER if side.there else SideOutcome.ABSENT, side.node_name)
    return OutcomeData(
        outcome=SideOutcome(decision.outcome),
        node_name=side.node_name,
        nodes=decision.best,
        feasible_nodes=len(decision.statuses.feasible) if decision.statuses is not None else 0,
        victims=dict(decision.victims),
        message=decision.message,
        error=decision.error,
    )


def _parts(old: OutcomeData, new: OutcomeData, nodes: NodeChanges) -> Iterator[Part]:
    if old.node_name != new.node_name:
        yield Part.PLACE
    if old.outcome != new.outcome or old.error != new.error:
        yield Part.OUTCOME
    if old.nodes != new.nodes:
        yield Part.WINNER
    if old.victims != new.victims:
        yield Part.VICTIMS
    if (nodes.changed & ~nodes.fitting).any():
        yield Part.NODES
    if nodes.fitting.any():
        yield Part.SCORES
    if old.message != new.message:
        yield Part.MESSAGE
