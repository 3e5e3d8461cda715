"""Maps of changes: the nodes that pods arrive on or leave, and nodes that are drained, added or removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.nodes import NodeEntryData, NodesOverview
from kschedctl.questions.presentation.charts import Colouring, Kind, NodeMap
from kschedctl.questions.presentation.node_map import NodeResult, results_map
from kschedctl.questions.presentation.tone import Tone

#: The number of pods that are named per line.
_MOST_NAMED: Final = 8
_ARRIVE: Final = Kind("pods arrive", Tone.GOOD)
_LEAVE: Final = Kind("pods leave", Tone.BAD)
_BOTH: Final = Kind("pods arrive and leave", Tone.MIXED)
_NEW: Final = "not in the snapshot: added"
_UNCHANGED: Final = Kind("no change", Tone.FAINT)


@dataclass(frozen=True, slots=True)
class NodeChange:
    """The change of a node: its kind, and lines of text about it."""

    kind: Kind
    about: tuple[str, ...] = ()


def changes_map(overview: NodesOverview, changes: Mapping[str, NodeChange]) -> NodeMap:
    """Return a map of nodes by their change; the kinds are in the order of their first change.

    Parameters
    ----------
    changes : mapping of str to NodeChange
        The changes by node; nodes that the overview does not have are added.
    """
    known = {node.name for node in overview.nodes}
    nodes = (*overview.nodes, *(_added(name) for name in changes if name not in known))
    unchanged = (_UNCHANGED,) if len(changes) < len(nodes) else ()
    kinds = tuple(dict.fromkeys((*(change.kind for change in changes.values()), *unchanged)))
    none = NodeChange(_UNCHANGED)
    results = {}
    for node in nodes:
        change = changes.get(node.name, none)
        results[node.name] = NodeResult((change.kind.name,), (*change.about, *(() if node.name in known else (_NEW,))))
    return results_map(nodes, results, (Colouring("changes", kinds),))


def pods_map(
    overview: NodesOverview,
    arrive: Iterable[tuple[str, str]],
    leave: Iterable[tuple[str, str]],
    states: Mapping[str, NodeChange] | None = None,
) -> NodeMap:
    """Return a map of the nodes that pods arrive on and leave.

    Parameters
    ----------
    arrive, leave : iterable of (str, str)
        Nodes, each with a pod.
    states : mapping of str to NodeChange, optional
        The nodes that are coloured by a state of their own, such as drained ones.
    """
    arriving, leaving = by_node(arrive), by_node(leave)
    changes = {}
    for name in dict.fromkeys((*(states or ()), *arriving, *leaving)):
        own = (states or {}).get(name)
        gets, loses = arriving.get(name, ()), leaving.get(name, ())
        kind = own.kind if own else _BOTH if gets and loses else _ARRIVE if gets else _LEAVE
        lines = (*(own.about if own else ()), *pods_line("arrive", gets), *pods_line("leave", loses))
        changes[name] = NodeChange(kind, lines)
    return changes_map(overview, changes)


def by_node(pods: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the pods by node; pods without a node are left out."""
    found: dict[str, list[str]] = {}
    for node, pod in pods:
        if node:
            found.setdefault(node, []).append(pod)
    return found


def pods_line(verb: str, pods: Sequence[str]) -> tuple[str, ...]:
    """Return a line such as ``2 pods arrive: shop/web-1 and shop/web-2``; nothing without pods.

    Examples
    --------
    >>> pods_line("arrive", ["shop/web-1"])
    ('1 pod arrives: shop/web-1',)
    """
    if not pods:
        return ()
    return (f"{counted(len(pods), 'pod')} {verb}{'s' if len(pods) == 1 else ''}: {listed(pods, most=_MOST_NAMED)}",)


def _added(name: str) -> NodeEntryData:
    """Return the entry of a node about which only its name is known."""
    return NodeEntryData(name, None, False, True, "", "", "", "", "", (), ())
