"""What changes for a pod, in words that are equal for pods that change alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.api.wording import counted, listed
from kschedctl.framework.status import Status
from kschedctl.report.diff.data import OutcomeData, Part, SideOutcome
from kschedctl.report.diff.nodes import NodeChanges

#: Beyond this many kinds of reasons the others are counted.
_MOST_REASONS: Final = 3
_NUMBER: Final = re.compile("[0-9]+")
_NODES_SAY: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")
#: What turns a node away that no filter looks at.
_NO_PLUGIN: Final = "PreFilter"


def describe(old: OutcomeData, new: OutcomeData, parts: Sequence[Part], nodes: NodeChanges) -> tuple[str, ...]:
    """Say what changes, the most important first.

    Parameters
    ----------
    old, new : OutcomeData
        What comes of the pod on both sides.
    parts : sequence of Part
        What changes.
    nodes : NodeChanges
        The nodes of which something else is said.
    """
    return tuple(_sentences(old, new, parts, nodes))


def _sentences(old: OutcomeData, new: OutcomeData, parts: Sequence[Part], nodes: NodeChanges) -> Iterator[str]:
    if old.outcome is SideOutcome.ABSENT:
        yield f"is new: {_does(new)}"
        return
    if new.outcome is SideOutcome.ABSENT:
        yield f"is gone (before: {_does(old)})"
        return
    if Part.PLACE in parts:
        if not new.node_name:
            yield f"loses {old.node_name}: {_does(new)}{_because(new)}"
        elif old.node_name:
            yield f"runs on {new.node_name} instead of {old.node_name}"
        else:
            yield f"runs on {new.node_name} (before: {_does(old)})"
        return
    anew = "scheduled anew, " if new.node_name else "without its gates, " if new.outcome is SideOutcome.GATED else ""
    if Part.OUTCOME in parts:
        yield f"{anew}{_does(new)}{_because(new)} (before: {_does(old)})"
        return
    if Part.WINNER in parts:
        # Only a pod that is not tried can be left with no node and come to the same end.
        if not new.nodes:
            yield f"{anew}would fit nowhere (before: would go to {_nodes(old.nodes)})"
        elif not old.nodes:
            yield f"{anew}would go to {_nodes(new.nodes)} (before: would fit nowhere)"
        else:
            by = nodes.scored_by(among={*old.nodes, *new.nodes})
            because = f" ({', '.join(by)})" if by else ""
            yield f"{anew}goes to {_nodes(new.nodes)} instead of {_nodes(old.nodes)}{because}"
    if Part.VICTIMS in parts:
        yield _victims(old, new)
    if Part.NODES in parts:
        yield from _fitting(nodes)
    if Part.SCORES in parts and Part.WINNER not in parts:
        by = nodes.scored_by()
        yield f"same node, other scores ({', '.join(by)})" if by else "same node, other scores"
    if parts == (Part.MESSAGE,):
        numbers = _NUMBER.sub("#", old.message) == _NUMBER.sub("#", new.message)
        yield "the numbers in the event message change" if numbers else "the event message changes"


def _does(outcome: OutcomeData) -> str:
    """What comes of a pod, after its name."""
    match outcome.outcome:
        case SideOutcome.SCHEDULED:
            return f"goes to {_nodes(outcome.nodes)}"
        case SideOutcome.UNSCHEDULABLE:
            if outcome.victims:
                return f"fits nowhere, would evict {_evicted(outcome)}"
            return "fits nowhere"
        case SideOutcome.GATED:
            return "is not tried"
        case SideOutcome.ERROR:
            return f"fails: {outcome.error}"
        case SideOutcome.OTHER_SCHEDULER:
            return "no profile is responsible"
        case SideOutcome.ABSENT:
            return "is not there"


def _because(outcome: OutcomeData) -> str:
    """Why a pod fits nowhere, in the scheduler's words: which nodes say what."""
    reasons = _NODES_SAY.match(outcome.message)
    return f" ({reasons[1]})" if reasons and outcome.outcome is SideOutcome.UNSCHEDULABLE else ""


def _nodes(names: Sequence[str]) -> str:
    return listed(names, "or")


def _evicted(outcome: OutcomeData) -> str:
    """The victims and their node; of several nodes that chance decides among only these."""
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
        # A node that is gone has no plugin that turns it away.
        by = ", ".join(sorted({plugin for plugin in lost.values() if plugin}))
        yield f"no longer fits {listed(tuple(lost))}" + (f" ({by})" if by else "")
    for (was, now), number in said.most_common(_MOST_REASONS):
        yield f"{counted(number, 'node')} {'says' if number == 1 else 'say'} {now} instead of {was}"
    if len(said) > _MOST_REASONS:
        rest = sum(number for _, number in said.most_common()[_MOST_REASONS:])
        yield f"{counted(rest, 'node')} more {'says' if rest == 1 else 'say'} something else"


def _told_apart(before: Status, after: Status) -> tuple[str, str]:
    """What turns a node away on both sides: the plugins, or where that is the same one its words."""
    if before.plugin != after.plugin:
        return before.plugin or _NO_PLUGIN, after.plugin or _NO_PLUGIN
    was, now = (f'"{side.message}"' for side in (before, after))
    return was, now
