"""The charts of devices: the devices of each pool by state, and maps of the nodes that can use them."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.devices import DeviceData, DevicesOverview, DeviceSupply, PlaceData, PoolData
from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.presentation.allocation import allocation_lines
from kschedctl.questions.presentation.charts import Bar, Bars, Colouring, Kind, NodeMap, Segment
from kschedctl.questions.presentation.document import GAP, Document
from kschedctl.questions.presentation.node_map import NodeResult, results_map
from kschedctl.questions.presentation.tone import Tone

#: The most pools with a bar and, in formats that draw, with a table of their devices.
MOST_POOLS: Final = 100
_STATES: Final = (
    Kind("free", Tone.GOOD),
    Kind("shared", Tone.MIXED),
    Kind("held", Tone.BAD),
    Kind("tainted", Tone.CAUTION),
    Kind("in a pool that is not used", Tone.FAINT),
)
_FREE, _SHARED, _HELD, _TAINTED, _UNUSED = range(5)
#: The kinds of nodes by their devices.
_ALL, _SOME, _NONE, _WITHOUT = "all devices free", "some devices free", "no device free", "no devices"
_USABLE: Final = "can be allocated"


def overview_charts(answer: DevicesOverview, overview: NodesOverview | None) -> Document:
    """Lay out the map of the nodes by their devices, and a bar per pool."""
    if overview is not None:
        yield GAP
        yield devices_map(answer, overview)
    yield GAP
    yield pools_bars(answer)


def pools_bars(answer: DevicesOverview) -> Bars:
    """Return the devices of each pool by state."""
    rows = []
    longest = max((len(pool.devices) for pool in answer.pools), default=0) or 1
    for pool in answer.pools[:MOST_POOLS]:
        counts = Counter(_state(device, pool) for device in pool.devices)
        segments = tuple(Segment(state, n, counted(n, "device")) for state, n in sorted(counts.items()))
        numbers = (len(pool.devices), pool.allocated, pool.available)
        rows.append(Bar((f"{pool.driver}/{pool.name}", *(counted(n, "device") for n in numbers)), segments, longest))
    left = len(answer.pools) - len(rows)
    return Bars(
        title="Devices by pool",
        measure="devices",
        headings=("pool", "total", "allocated", "free"),
        kinds=_STATES,
        rows=tuple(rows),
        note=f"and {counted(left, 'more pool')}" if left else "",
        numbers=False,
    )


def _state(device: DeviceData, pool: PoolData) -> int:
    if pool.problem:
        return _UNUSED
    if not device.free:
        return _SHARED if device.shared else _HELD
    if device.available:
        return _FREE
    return _TAINTED if pool.nodes else _UNUSED


def devices_map(answer: DevicesOverview, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes by the share of free devices in the pools that they can use."""
    total: Counter[str] = Counter()
    free: Counter[str] = Counter()
    lines: dict[str, list[str]] = {}
    for pool in answer.pools:
        line = f"{pool.driver}/{pool.name}: {pool.available} of {counted(len(pool.devices), 'device')} free"
        for node in pool.nodes:
            lines.setdefault(node, []).append(f"{line}; not used: {pool.problem}" if pool.problem else line)
            if not pool.problem:
                total[node] += len(pool.devices)
                free[node] += pool.available
    kinds = (Kind(_ALL, Tone.GOOD), Kind(_SOME, Tone.MIXED), Kind(_NONE, Tone.BAD), Kind(_WITHOUT, Tone.FAINT))
    results = {
        node.name: NodeResult(
            (
                _WITHOUT if not total[node.name]
                else _ALL if free[node.name] == total[node.name]
                else _SOME if free[node.name]
                else _NONE,
            ),
            tuple(lines.get(node.name, ())),
        )
        for node in overview.nodes
    }  # fmt: skip
    return results_map(overview.nodes, results, (Colouring("devices", kinds),))


def supply_map(answer: DeviceSupply, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes by the result for a claim, or for a device of a class."""
    results = {
        node: NodeResult((_USABLE if place.usable else place.refusal or "cannot be allocated",), place_lines(place))
        for place in answer.places
        for node in place.nodes
    }
    refusals = sorted({kind for result in results.values() for kind in result.kinds} - {_USABLE})
    kinds = (Kind(_USABLE, Tone.GOOD), *map(Kind, refusals))
    return results_map(overview.nodes, results, (Colouring("result", kinds),))


def place_lines(place: PlaceData, *, names_claims: bool = False) -> tuple[str, ...]:
    """Return the lines of a group of nodes: the allocations, or the reasons why there are none.

    Parameters
    ----------
    names_claims : bool
        True to name the claims, if there may be several.
    """
    if place.usable:
        lines = (allocation_lines(allocation, names_claim=names_claims) for allocation in place.allocations)
        return tuple(line for own in lines for line in own)
    return (*(place.reasons or (place.refusal,)), *place.selectors)
