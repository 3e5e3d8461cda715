"""The charts of capacity: the copies by node, and what rejects the next one."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.capacity import CapacityList, PodCapacity
from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.presentation.charts import Bar, Bars, Colouring, Kind, NodeMap, Segment
from kschedctl.questions.presentation.node_map import NodeResult, rejection_lines, results_map
from kschedctl.questions.presentation.tone import Tone

#: The most nodes, and the most workloads, with a bar.
_MOST_BARS: Final = 60
#: The number of colours for nodes with copies.
_STEPS: Final = 5
_NO_COPY: Final = "none"
_ACCEPTS: Final = "accepts the next copy"


def capacity_map(answer: PodCapacity, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes by the number of copies, and by the plugin that rejects the next one."""
    copies = {room.node: room.copies for room in answer.nodes}
    refusals = {node.name: node for node in answer.refusals if not node.fits}
    most = max(copies.values(), default=0)
    results = {}
    for node in overview.nodes:
        refusal = refusals.get(node.name)
        number = copies.get(node.name, 0)
        lines = (_counted(number, answer), *(rejection_lines(refusal) if refusal is not None else ()))
        plugin = refusal.plugin or "PreFilter" if refusal is not None else _ACCEPTS
        results[node.name] = NodeResult((_step(number, most), plugin), lines)
    plugins = sorted({result.kinds[1] for result in results.values()} - {_ACCEPTS})
    colourings = (
        Colouring(_unit(answer), _steps(most), scale=True),
        Colouring("rejection of the next copy", (Kind(_ACCEPTS, Tone.GOOD), *map(Kind, plugins))),
    )
    return results_map(overview.nodes, results, colourings, answer.pod.requests)


def _unit(answer: PodCapacity) -> str:
    return "copies" if answer.gang is None else "pods"


def _counted(number: int, answer: PodCapacity) -> str:
    return "1 copy" if number == 1 and answer.gang is None else f"{number} {_unit(answer)}" if number != 1 else "1 pod"


def _steps(most: int) -> tuple[Kind, ...]:
    """Return the steps of a scale from no copy to the largest number on a node."""
    return tuple(Kind(name) for name in dict.fromkeys(_step(number, most) for number in range(most + 1)))


def _step(number: int, most: int) -> str:
    """Return the step of a number of copies: one of at most 5 ranges of equal size.

    Examples
    --------
    >>> _step(0, 9), _step(3, 9), _step(9, 9), _step(3, 4)
    ('none', '3 to 4', '9', '3')
    """
    if not number:
        return _NO_COPY
    size = -(-most // _STEPS)
    first = (number - 1) // size * size + 1
    last = min(first + size - 1, most)
    return str(first) if first == last else f"{first} to {last}"


def copies_bars(answer: PodCapacity) -> Bars:
    """Return the number of copies by node, most copies first, coloured by zone."""
    longest = max(room.copies for room in answer.nodes)
    shown = answer.nodes[:_MOST_BARS]
    zones = tuple(dict.fromkeys(room.zone for room in shown))
    rows = []
    for room in shown:
        text = _counted(room.copies, answer)
        rows.append(Bar((room.node, text), (Segment(zones.index(room.zone), room.copies, text),), longest))
    left = len(answer.nodes) - len(shown)
    return Bars(
        title=f"{_unit(answer).capitalize()} by node",
        measure="copies",
        headings=("node", _unit(answer)),
        kinds=tuple(Kind(f"zone {zone}" if zone else "no zone") for zone in zones),
        rows=tuple(rows),
        note=f"and {counted(left, 'more node')}, each with at most {shown[-1].copies}" if left else "",
        numbers=False,
    )


def workloads_bars(found: CapacityList) -> Bars:
    """Return the number of further copies by workload."""
    shown = found.items[:_MOST_BARS]
    rows = []
    for answer in shown:
        text = f"{'at least ' if answer.bounded else ''}{_counted(answer.copies, answer)}"
        segments = (Segment(int(answer.bounded), answer.copies, text),) if answer.copies else ()
        rows.append(Bar((answer.name, text), segments, max((each.copies for each in shown), default=0) or 1))
    left = len(found.items) - len(shown)
    return Bars(
        title="Further copies by workload",
        measure="copies",
        headings=("workload", "copies"),
        kinds=(Kind("all copies that fit", Tone.GOOD), Kind("at least, counted up to the limit", Tone.GOOD, weak=True)),
        rows=tuple(rows),
        note=f"and {counted(left, 'more workload')}" if left else "",
        numbers=False,
    )
