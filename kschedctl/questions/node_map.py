"""Maps of nodes: one cell per node, grouped by zone, pool or instance type, coloured by results or free capacity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kschedctl.common.wording import counted, listed
from kschedctl.objects.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY
from kschedctl.questions.answer import amount_of, readable
from kschedctl.questions.charts import Cell, Colouring, Kind, NodeMap, kinds_of
from kschedctl.questions.document import Tone
from kschedctl.questions.explain.answer import Explanation, NodeData
from kschedctl.questions.node_groups import deciding_reasons, wording
from kschedctl.questions.nodes.answer import NodeAmountsData, NodeEntryData, NodesOverview

#: The steps of free shares: a label, and the share in percent from which the next step begins.
_STEPS: Final = (("nothing free", 0), ("below 20 %", 20), ("below 40 %", 40), ("below 60 %", 60), ("below 80 %", 80))
_LAST_STEP: Final = "80 % or more"
_NONE: Final = "the node has none"
#: The kinds of the colouring by results.
_BEST: Final = "best node"
_FITS: Final = "fits"
_BEFORE_FILTERS: Final = "PreFilter"
#: The number of resources by which cells can be coloured.
_MOST_RESOURCES: Final = 4


def nodes_map(overview: NodesOverview) -> NodeMap:
    """Return a map of nodes by free capacity and status."""
    statuses = {node.name: node.problem or node.status for node in overview.nodes}
    tones = [
        (each.problem or each.status, Tone.GOOD if each.available else Tone.BAD if each.problem else Tone.MIXED)
        for each in overview.nodes
    ]
    kinds = kinds_of(sorted(set(statuses.values())), tones)
    position = {kind.name: i for i, kind in enumerate(kinds)}
    resources = _resources(overview.nodes)
    colourings = (*(_share_colouring(name) for name in resources), Colouring("status", kinds))
    cells = (
        _cell(each, resources, (), (position[statuses[each.name]],), tuple(f"taint {taint}" for taint in each.taints))
        for each in overview.nodes
    )
    return _map("Map of the nodes", overview.nodes, colourings, cells)


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result of an answer for a node."""

    #: The name of the node's kind in each colouring by result.
    kinds: tuple[str, ...]
    #: Lines of text about the result, such as the reasons of the filters.
    about: tuple[str, ...] = ()


def results_map(
    nodes: Iterable[NodeEntryData],
    results: Mapping[str, NodeResult],
    colourings: Sequence[Colouring],
    requests: Iterable[str] = (),
) -> NodeMap:
    """Return a map of the nodes that have a result, coloured by result and by free capacity.

    Args:
        nodes: The nodes; those without a result are left out.
        colourings: The colourings by result. Kinds that no node has are left out, except from scales.
        requests: The resources by whose free share the nodes can be coloured, besides cpu and memory.
    """
    shown_nodes = [node for node in nodes if node.name in results]
    used = [{results[node.name].kinds[i] for node in shown_nodes} for i in range(len(colourings))]
    shown = tuple(
        msgspec.structs.replace(each, kinds=tuple(kind for kind in each.kinds if each.scale or kind.name in names))
        for each, names in zip(colourings, used, strict=True)
    )
    positions = [{kind.name: i for i, kind in enumerate(each.kinds)} for each in shown]
    resources = _resources(shown_nodes, requests)
    cells = []
    for node in shown_nodes:
        result = results[node.name]
        kinds = tuple(position[name] for position, name in zip(positions, result.kinds, strict=True))
        cells.append(_cell(node, resources, kinds, (), result.about))
    return _map("Map of the nodes", shown_nodes, (*shown, *(_share_colouring(name) for name in resources)), cells)


def explained_map(explanation: Explanation, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes by the plugin that decides about them, and by free capacity."""
    best = frozenset(explanation.verdict.nodes)
    totals = {each.name: each.total for each in explanation.scores.nodes} if explanation.scores is not None else {}
    results = {}
    for node in explanation.nodes:
        if node.fits:
            kind = _BEST if node.name in best else _FITS
            lines: tuple[str, ...] = (f"score {totals[node.name]}" if node.name in totals else _FITS,)
        else:
            kind, lines = node.plugin or _BEFORE_FILTERS, rejection_lines(node)
        results[node.name] = NodeResult((kind,), lines)
    rejecting = sorted({name for node in results.values() for name in node.kinds} - {_BEST, _FITS})
    kinds = (Kind(_BEST, Tone.GOOD), Kind(_FITS, Tone.GOOD, weak=bool(best)), *map(Kind, rejecting))
    return results_map(overview.nodes, results, (Colouring("result", kinds),), explanation.pod.requests)


def rejection_lines(node: NodeData) -> tuple[str, ...]:
    """Return the reasons for which a node rejects a pod, one line per reason: the deciding ones first."""
    others = (f"also {reason.plugin}: {wording((reason,))}" for reason in node.reasons if reason.plugin != node.plugin)
    return (*wording(deciding_reasons(node)).split("\n"), *others)


def _map(
    title: str, nodes: Sequence[NodeEntryData], colourings: tuple[Colouring, ...], cells: Iterable[Cell]
) -> NodeMap:
    """Return a map that is grouped only by properties that some node has."""
    properties = {
        "zone": [node.zone for node in nodes],
        "pool": [node.pool for node in nodes],
        "instance type": [node.instance_type for node in nodes],
    }
    used = [i for i, values in enumerate(properties.values()) if any(values)]
    names = list(properties)
    return NodeMap(
        title=title,
        groupings=tuple(names[i] for i in used),
        colourings=colourings,
        cells=tuple(
            Cell(cell.name, tuple(cell.groups[i] for i in used), cell.kinds, cell.about) for cell in cells
        ),
    )  # fmt: skip


def _cell(
    node: NodeEntryData, resources: Sequence[str], before: tuple[int, ...], after: tuple[int, ...], why: tuple[str, ...]
) -> Cell:
    """Return the cell of a node; ``before`` and ``after`` are its kinds in the colourings around those by resource."""
    amounts = node.resources
    free = (
        f"{name}: {readable(name, amounts[name].free)} of {readable(name, amounts[name].allocatable)} free"
        for name in resources
        if name in amounts
    )
    kinds = (*before, *(_step(amounts.get(name)) for name in resources), *after)
    state = (node.problem,) if node.problem else ("cordoned",) if node.unschedulable else ()
    return Cell(node.name, (node.zone, node.pool, node.instance_type), kinds, (*why, *state, *free))


def _share_colouring(resource: str) -> Colouring:
    steps = (*(Kind(label) for label, _ in _STEPS), Kind(_LAST_STEP), Kind(_NONE, Tone.FAINT))
    return Colouring(f"free {resource}", steps, scale=True)


def _step(amounts: NodeAmountsData | None) -> int:
    """Return the step of the free share of a node; the last one if the node does not have the resource."""
    allocatable = amount_of(amounts.resource, amounts.allocatable) if amounts is not None else 0
    if amounts is None or not allocatable:
        return len(_STEPS) + 1
    share = 100 * amount_of(amounts.resource, amounts.free) / allocatable
    return next((i for i, (_, limit) in enumerate(_STEPS) if share < limit or share <= limit == 0), len(_STEPS))


def _resources(nodes: Iterable[NodeEntryData], requested: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the resources for colourings: cpu and memory, then those requested, then others that nodes have."""
    every = {each.resource: None for node in nodes for each in node.resources.values() if each.allocatable != "0"}
    own = [name for name in (CPU, MEMORY, *requested) if name in every]
    others = [name for name in every if "/" in name and not name.startswith((HUGEPAGES_PREFIX, EPHEMERAL_STORAGE))]
    return tuple(dict.fromkeys((*own, *others)))[:_MOST_RESOURCES]


# Maps of changes: the nodes that pods arrive on or leave, and nodes that are drained, added or removed.

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

    Args:
        changes: The changes by node; nodes that the overview does not have are added.
    """
    known = {node.name for node in overview.nodes}
    nodes = (
        *overview.nodes,
        *(NodeEntryData(name, None, False, True, "", "", "", "", "", (), {}) for name in changes if name not in known),
    )
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

    Args:
        states: The nodes that are coloured by a state of their own, such as drained ones.
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

    >>> pods_line("arrive", ["shop/web-1"])
    ('1 pod arrives: shop/web-1',)
    """
    if not pods:
        return ()
    return (f"{counted(len(pods), 'pod')} {verb}{'s' if len(pods) == 1 else ''}: {listed(pods, most=_MOST_NAMED)}",)
