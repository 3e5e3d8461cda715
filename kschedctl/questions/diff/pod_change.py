"""The change for a pod between two sides: the parts of the answer that differ, and sentences about them.

The sentences are equal for pods with equal changes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.questions.diff.answer import AnswerPart, OutcomeData, PodChangeData, SideOutcome
from kschedctl.questions.diff.nodes import ComparedNodes, NodeChanges
from kschedctl.questions.diff.sides import SideAnswer

#: A change in words.
Summary = tuple[str, ...]
#: The 3 most frequent changes of reasons are named; the nodes of the others are counted.
_MOST_REASONS: Final = 3
_NUMBER: Final = re.compile("[0-9]+")
_NODES_SAY: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")
#: The name of the rejecting stage for a node that no filter inspects.
_NO_PLUGIN: Final = "PreFilter"


def differing_parts(old: OutcomeData, new: OutcomeData, nodes: NodeChanges) -> tuple[AnswerPart, ...]:
    """Return the parts of the answers of two sides that differ, given the nodes whose results do."""
    fitting = nodes.fitting
    differs = {
        AnswerPart.PLACE: old.node_name != new.node_name,
        AnswerPart.OUTCOME: old.outcome != new.outcome or old.error != new.error,
        AnswerPart.WINNER: old.nodes != new.nodes,
        AnswerPart.VICTIMS: old.victims != new.victims,
        AnswerPart.NODES: (nodes.changed & ~fitting).any(),
        AnswerPart.SCORES: fitting.any(),
        AnswerPart.MESSAGE: old.message != new.message,
    }
    return tuple(part for part, changed in differs.items() if changed)


def node_changes(before: SideAnswer, after: SideAnswer) -> NodeChanges:
    """Return the nodes whose results differ between two sides; none if a side has no decision."""
    both = before.is_decided and after.is_decided
    return NodeChanges(ComparedNodes.of(before.columns, after.columns) if both else ComparedNodes.of(None, None))


def compare(before: SideAnswer, after: SideAnswer, seen: set[Summary] | None = None) -> PodChangeData | None:
    """Compare the answers of two sides; return ``None`` if nothing changes.

    Args:
        seen: The summaries of earlier changes, whose nodes are not listed again; by default nodes are always
            listed.

    Returns: The change, without the pod's name.
    """
    nodes = node_changes(before, after)
    change = compare_outcomes(before.outcome, after.outcome, nodes)
    if change is None or (seen is not None and change.summary in seen):
        return change
    return replace(change, nodes=nodes.data())


def compare_outcomes(old: OutcomeData, new: OutcomeData, nodes: NodeChanges) -> PodChangeData | None:
    """Compare the outcomes of two sides, given the nodes whose results differ; return ``None`` if nothing changes.

    Returns: The change, without the pod's name and without its nodes.
    """
    parts = differing_parts(old, new, nodes)
    if not parts:
        return None
    had = bool(old.node_name) or old.outcome is SideOutcome.SCHEDULED
    has = bool(new.node_name) or new.outcome in (SideOutcome.SCHEDULED, SideOutcome.ABSENT)
    summary = tuple(describe(old, new, parts, nodes))
    return PodChangeData("", "", summary, parts, had and not has, old, new, nodes=None)


def describe(old: OutcomeData, new: OutcomeData, parts: Sequence[AnswerPart], nodes: NodeChanges) -> Iterator[str]:
    """Yield sentences about the parts of the outcome that change, the most important first."""
    if SideOutcome.ABSENT in (old.outcome, new.outcome) or AnswerPart.PLACE in parts:
        yield _place_change(old, new)
        return
    anew = "if rescheduled, " if new.node_name else "without its gates, " if new.outcome is SideOutcome.GATED else ""
    if AnswerPart.OUTCOME in parts:
        yield f"{anew}{_does(new)}{_because(new)} (before: {_does(old)})"
        return
    if AnswerPart.WINNER in parts:
        yield f"{anew}{_winner(old, new, nodes)}"
    if AnswerPart.VICTIMS in parts:
        if not new.victims:
            yield f"preemption no longer helps (before: {_evicted(old)})"
        elif not old.victims:
            yield f"preemption would help: {_evicted(new)}"
        else:
            yield f"would evict {_evicted(new)} instead of {_evicted(old)}"
    if AnswerPart.NODES in parts:
        yield from _fitting(nodes)
    if AnswerPart.SCORES in parts and AnswerPart.WINNER not in parts:
        by = nodes.scored_by()
        yield f"same node, other scores ({', '.join(by)})" if by else "same node, other scores"
    if parts == (AnswerPart.MESSAGE,):
        numbers = _NUMBER.sub("#", old.message) == _NUMBER.sub("#", new.message)
        yield "the numbers in the event message change" if numbers else "the event message changes"


def _place_change(old: OutcomeData, new: OutcomeData) -> str:
    if old.outcome is SideOutcome.ABSENT:
        return f"is new: {_does(new)}"
    if new.outcome is SideOutcome.ABSENT:
        return f"is gone (before: {_does(old)})"
    if not new.node_name:
        return f"no longer runs on {old.node_name}: {_does(new)}{_because(new)}"
    if old.node_name:
        return f"runs on {new.node_name} instead of {old.node_name}"
    return f"runs on {new.node_name} (before: {_does(old)})"


def _winner(old: OutcomeData, new: OutcomeData, nodes: NodeChanges) -> str:
    # Only a pod that is not tried can lose all its nodes without a change of outcome.
    if not new.nodes:
        return f"would fit on no node (before: would be scheduled to {_nodes(old.nodes)})"
    if not old.nodes:
        return f"would be scheduled to {_nodes(new.nodes)} (before: would fit on no node)"
    by = nodes.scored_by(among={*old.nodes, *new.nodes})
    because = f" ({', '.join(by)})" if by else ""
    return f"is scheduled to {_nodes(new.nodes)} instead of {_nodes(old.nodes)}{because}"


def _does(outcome: OutcomeData) -> str:
    match outcome.outcome:
        case SideOutcome.SCHEDULED:
            return f"is scheduled to {_nodes(outcome.nodes)}"
        case SideOutcome.UNSCHEDULABLE:
            if outcome.victims:
                return f"fits on no node, would evict {_evicted(outcome)}"
            return "fits on no node"
        case SideOutcome.GATED:
            return "is not tried"
        case SideOutcome.ERROR:
            return f"fails: {outcome.error}"
        case SideOutcome.OTHER_SCHEDULER:
            return "has another scheduler"
        case SideOutcome.ABSENT:
            return "does not exist"


def _because(outcome: OutcomeData) -> str:
    """Return the reason for which a pod fits nowhere, in the scheduler's words."""
    reasons = _NODES_SAY.match(outcome.message)
    return f" ({reasons[1]})" if reasons and outcome.outcome is SideOutcome.UNSCHEDULABLE else ""


def _nodes(names: Sequence[str]) -> str:
    return listed(names, "or")


def _evicted(outcome: OutcomeData) -> str:
    """Return the victims and their node as text; only the nodes if there are several."""
    (node, victims), *others = outcome.victims.items()
    if others:
        return f"pods on {_nodes(tuple(outcome.victims))}"
    return f"{listed(victims)} on {node}"


def _fitting(nodes: NodeChanges) -> Iterator[str]:
    gained, lost = nodes.gained, nodes.lost
    said: Counter[tuple[str, ...]] = Counter()
    for sides, number in nodes.said_otherwise.items():
        # The plugins that reject the node on both sides, or their words if the plugin is the same.
        apart = len({side.plugin for side in sides}) > 1
        said[tuple((side.plugin or _NO_PLUGIN) if apart else f'"{side.message}"' for side in sides)] += number
    if gained:
        yield f"also fits {listed(gained)}"
    if lost:
        # A node that is gone has no rejecting plugin.
        by = ", ".join(sorted({plugin for plugin in lost.values() if plugin}))
        yield f"no longer fits {listed(tuple(lost))}" + (f" ({by})" if by else "")
    for (was, now), number in said.most_common(_MOST_REASONS):
        yield f"{counted(number, 'node')} {'reports' if number == 1 else 'report'} {now} instead of {was}"
    if len(said) > _MOST_REASONS:
        rest = sum(number for _, number in said.most_common()[_MOST_REASONS:])
        yield f"{counted(rest, 'more node')} {'reports' if rest == 1 else 'report'} other reasons"
