"""Sentences about the changes for a pod, equal for pods with equal changes, and a summary for all pods."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.analyses.diff.nodes import NodeChanges
from kschedctl.questions.answers.diff import AnswerPart, OutcomeData, PodChangeData, SideOutcome
from kschedctl.scheduler.framework.status import Status

#: The 3 most frequent changes of reasons are named; the nodes of the others are counted.
_MOST_REASONS: Final = 3
_NUMBER: Final = re.compile("[0-9]+")
_NODES_SAY: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")
#: The name of the rejecting stage for a node that no filter inspects.
_NO_PLUGIN: Final = "PreFilter"


def summary(changed: Sequence[PodChangeData], n_pods: int) -> str:
    """Count the compared pods that lose their place and those that change otherwise, in one or two sentences."""
    of = counted(n_pods, "pod")
    if not changed:
        return f"Nothing changes for {of}."
    worse = sum(pod.worse for pod in changed)
    elsewhere = sum(not pod.worse and pod.changes_outcome for pod in changed)
    alike = len(changed) - worse - elsewhere
    if n_pods == 1:
        details = "" if worse or elsewhere else "does not change its node, only details: "
        return f"{changed[0].key} {details}{changed[0].summary[0]}."
    if alike == len(changed):
        return f"No pod changes its node; {alike} of {of} {'changes' if alike == 1 else 'change'} only in details."
    counts = [
        (worse, "would fit on no node"),
        (elsewhere, "has another outcome" if elsewhere == 1 else "have another outcome"),
        (alike, "changes only in details" if alike == 1 else "change only in details"),
    ]
    (first, does), *rest = [(number, words) for number, words in counts if number]
    return ", ".join([f"{first} of {of} {does}", *(f"{number} {words}" for number, words in rest)]) + "."


def describe(old: OutcomeData, new: OutcomeData, parts: Sequence[AnswerPart], nodes: NodeChanges) -> tuple[str, ...]:
    """Return sentences about the parts of the outcome that change, the most important first."""
    return tuple(_sentences(old, new, parts, nodes))


def _sentences(old: OutcomeData, new: OutcomeData, parts: Sequence[AnswerPart], nodes: NodeChanges) -> Iterator[str]:
    if SideOutcome.ABSENT in (old.outcome, new.outcome) or AnswerPart.PLACE in parts:
        yield _place(old, new)
        return
    anew = "if rescheduled, " if new.node_name else "without its gates, " if new.outcome is SideOutcome.GATED else ""
    if AnswerPart.OUTCOME in parts:
        yield f"{anew}{_does(new)}{_because(new)} (before: {_does(old)})"
        return
    if AnswerPart.WINNER in parts:
        yield f"{anew}{_winner(old, new, nodes)}"
    if AnswerPart.VICTIMS in parts:
        yield _victims(old, new)
    if AnswerPart.NODES in parts:
        yield from _fitting(nodes)
    if AnswerPart.SCORES in parts and AnswerPart.WINNER not in parts:
        by = nodes.scored_by()
        yield f"same node, other scores ({', '.join(by)})" if by else "same node, other scores"
    if parts == (AnswerPart.MESSAGE,):
        numbers = _NUMBER.sub("#", old.message) == _NUMBER.sub("#", new.message)
        yield "the numbers in the event message change" if numbers else "the event message changes"


def _place(old: OutcomeData, new: OutcomeData) -> str:
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


def _victims(old: OutcomeData, new: OutcomeData) -> str:
    if not new.victims:
        return f"preemption no longer helps (before: {_evicted(old)})"
    if not old.victims:
        return f"preemption would help: {_evicted(new)}"
    return f"would evict {_evicted(new)} instead of {_evicted(old)}"


def _fitting(nodes: NodeChanges) -> Iterator[str]:
    gained, lost = nodes.gained, nodes.lost
    said: Counter[tuple[str, str]] = Counter()
    for (before, after), number in nodes.said_otherwise.items():
        said[_told_apart(before, after)] += number
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


def _told_apart(before: Status, after: Status) -> tuple[str, str]:
    """Return the sources of a node's rejection on both sides: the plugins, or the words if the plugin is the same."""
    if before.plugin != after.plugin:
        return before.plugin or _NO_PLUGIN, after.plugin or _NO_PLUGIN
    was, now = (f'"{side.message}"' for side in (before, after))
    return was, now
