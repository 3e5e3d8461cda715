"""What changes for a pod, in words that are equal for pods that change alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kschedctl.api.wording import counted, listed
from kschedctl.report.diff.data import NodeChangeData, NodeOutcomeData, OutcomeData, Part, SideOutcome

#: Beyond this many kinds of reasons the others are counted.
_MOST_REASONS: Final = 3
_NUMBER: Final = re.compile("[0-9]+")
#: What turns a node away that no filter looks at.
_NO_PLUGIN: Final = "PreFilter"


def describe(
    old: OutcomeData, new: OutcomeData, parts: Sequence[Part], nodes: Sequence[NodeChangeData]
) -> tuple[str, ...]:
    """Say what changes, the most important first.

    Parameters
    ----------
    old, new : OutcomeData
        What comes of the pod on both sides.
    parts : sequence of Part
        What changes.
    nodes : sequence of NodeChangeData
        The nodes of which something else is said.
    """
    return tuple(_sentences(old, new, parts, nodes))


def _sentences(
    old: OutcomeData, new: OutcomeData, parts: Sequence[Part], nodes: Sequence[NodeChangeData]
) -> Iterator[str]:
    if old.outcome is SideOutcome.ABSENT:
        yield f"is new: {_does(new)}"
        return
    if new.outcome is SideOutcome.ABSENT:
        yield f"is gone (before: {_does(old)})"
        return
    if Part.PLACE in parts:
        if not new.node_name:
            yield f"loses {old.node_name}: {_does(new)}"
        elif old.node_name:
            yield f"runs on {new.node_name} instead of {old.node_name}"
        else:
            yield f"runs on {new.node_name} (before: {_does(old)})"
        return
    anew = "scheduled anew, " if new.node_name else "without its gates, " if new.outcome is SideOutcome.GATED else ""
    if Part.OUTCOME in parts:
        yield f"{anew}{_does(new)} (before: {_does(old)})"
        return
    if Part.WINNER in parts:
        # Only a pod that is not tried can be left with no node and come to the same end.
        if not new.nodes:
            yield f"{anew}would fit nowhere (before: would go to {_nodes(old.nodes)})"
        elif not old.nodes:
            yield f"{anew}would go to {_nodes(new.nodes)} (before: would fit nowhere)"
        else:
            by = _scored_by(nodes, among={*old.nodes, *new.nodes})
            because = f" ({', '.join(by)})" if by else ""
            yield f"{anew}goes to {_nodes(new.nodes)} instead of {_nodes(old.nodes)}{because}"
    if Part.VICTIMS in parts:
        yield _victims(old, new)
    if Part.NODES in parts:
        yield from _fitting(nodes)
    if Part.SCORES in parts and Part.WINNER not in parts:
        by = _scored_by(nodes)
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
            if not outcome.victims:
                return "fits nowhere"
            return f"fits nowhere, would evict {_evicted(outcome)}"
        case SideOutcome.GATED:
            return "is not tried"
        case SideOutcome.ERROR:
            return f"fails: {outcome.error}"
        case SideOutcome.OTHER_SCHEDULER:
            return "no profile is responsible"
        case SideOutcome.ABSENT:
            return "is not there"


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


def _fitting(nodes: Sequence[NodeChangeData]) -> Iterator[str]:
    gained, lost = [], {}
    said: Counter[tuple[str, str]] = Counter()
    for change in nodes:
        before, after = change.before, change.after
        fitted, fits = before is not None and before.fits, after is not None and after.fits
        if fits and not fitted:
            gained.append(change.name)
        elif fitted and not fits:
            lost[change.name] = after.plugin if after is not None else ""
        elif before is not None and after is not None and not fits:
            said[_told_apart(before, after)] += 1
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


def _told_apart(before: NodeOutcomeData, after: NodeOutcomeData) -> tuple[str, str]:
    """What turns a node away on both sides: the plugins, or where that is the same one its words."""
    if before.plugin != after.plugin:
        return before.plugin or _NO_PLUGIN, after.plugin or _NO_PLUGIN
    was, now = (f'"{", ".join(side.reasons)}"' for side in (before, after))
    return was, now


def _scored_by(nodes: Sequence[NodeChangeData], among: Collection[str] = ()) -> list[str]:
    """The plugins that score nodes differently on which the pod fits on both sides.

    Among some nodes only where the pod fits on all of these on both sides: else that is what decides.
    """
    found: set[str] = set()
    for change in nodes:
        before, after = change.before, change.after
        if before is None or after is None or not (before.fits and after.fits):
            if change.name in among:
                return []
        else:
            old, new = before.scores, after.scores
            found |= {plugin for plugin in (*old, *new) if old.get(plugin, 0) != new.get(plugin, 0)}
    return sorted(found)
