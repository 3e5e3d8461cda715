"""The document of ``devices``: pools and their problems, and the nodes that claims can be allocated on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.charts import Bar, Bars, Colouring, Kind, NodeMap, Segment
from kschedctl.questions.devices.answer import (
    AllocationData,
    DeviceData,
    DevicesOverview,
    DeviceSupply,
    GivenData,
    PlaceData,
    PoolData,
)
from kschedctl.questions.document import GAP, Document, Heading, Phrases, Question, Tone, table
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.node_map import NodeResult, results_map
from kschedctl.questions.nodes.answer import NodesOverview

# Lines of text for the allocations of claims.


def allocation_lines(allocation: AllocationData, *, names_claim: bool) -> Iterator[str]:
    """Yield a line with the claim and the nodes that its allocation is for, then a line per device.

    Args:
        names_claim: True to name the claim.
    """
    has = ", allocated" if allocation.stored else ""
    claim = f"claim {allocation.claim}{has} " if names_claim else ""
    yield f"{claim}for {allocation.for_nodes}:"
    for given in allocation.devices:
        yield f"  {given.request}: {given.name}{''.join(f', {note}' for note in _notes(given))}"


def _notes(given: GivenData) -> Iterator[str]:
    if given.admin_access:
        yield "for admin access"
    if given.shared:
        amounts = [f"{name} {amount}" for name, amount in given.consumed_capacity.items()]
        yield f"a share{' of ' + listed(amounts) if amounts else ''}"
    if given.binding_conditions:
        yield f"binding waits for {listed(given.binding_conditions)}"


# The charts of devices: the devices of each pool by state, and maps of the nodes that can use them.

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


def pools_bars(answer: DevicesOverview) -> Bars:
    """Return the devices of each pool by state."""
    rows = []
    longest = max((len(pool.devices) for pool in answer.pools), default=0) or 1
    for pool in answer.pools[:MOST_POOLS]:
        counts = Counter(_device_charts_state(device, pool) for device in pool.devices)
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


def _device_charts_state(device: DeviceData, pool: PoolData) -> int:
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

    Args:
        names_claims: True to name the claims, if there may be several.
    """
    if place.usable:
        lines = (allocation_lines(allocation, names_claim=names_claims) for allocation in place.allocations)
        return tuple(line for own in lines for line in own)
    return (*(place.reasons or (place.refusal,)), *place.selectors)


def overview_document(answer: DevicesOverview, view: View) -> Document:
    """Lay out all pools."""
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.usable else Tone.BAD, ("Devices",))
    yield from header(answer, view.now)
    if view.drawn and answer.pools:
        if view.overview is not None:
            yield from (GAP, devices_map(answer, view.overview))
        yield from (GAP, pools_bars(answer))
    if answer.pools:
        yield GAP
        rows = [
            (
                f"{pool.driver}/{pool.name}",
                listed(pool.nodes) or "-",
                str(len(pool.devices)),
                str(pool.available),
                listed(list(dict.fromkeys(holder.claim for device in pool.devices for holder in device.holders)))
                or "-",
                "; ".join(_problems(pool)) or "-",
            )
            for pool in answer.pools
        ]
        tones = [Tone.BAD if pool.problem else Tone.PLAIN for pool in answer.pools]
        headings = ("pool", "nodes", "devices", "free", "held by", "problem")
        yield table(headings, rows, numeric=(2, 3), tones=tones, identifiers=(0,))
    if view.wide:
        for pool in answer.pools[:MOST_POOLS] if view.drawn else answer.pools:
            yield Heading(f"{pool.driver}/{pool.name}")
            devices = [(device.name, _state(device, pool), ", ".join(device.taints) or "-") for device in pool.devices]
            yield table(("device", "state", "taints"), devices)
    yield from cautions(answer)
    if answer.pools and not view.wide:
        yield from next_questions([Question("All devices", "devices", options={"output": "wide"})])


def supply_document(answer: DeviceSupply, view: View) -> Document:
    """Lay out the nodes on which a claim or a device of a class can be allocated."""
    yield from first_line(
        answer, answer.summary, Tone.GOOD if answer.usable else Tone.BAD, (f"Devices for {answer.argument}",)
    )
    if answer.pods:
        yield Phrases((f"used by {listed(answer.pods)}",))
    yield from header(answer, view.now)
    if view.drawn and view.overview is not None and answer.places:
        yield from (GAP, supply_map(answer, view.overview))
    yield from places_section(answer.places, every=view.wide and not view.drawn)
    yield from cautions(answer)
    if answer.places and not view.wide:
        yield from next_questions([Question("All nodes", "devices", answer.argument, {"output": "wide"})])


def places_section(places: Sequence[PlaceData], *, every: bool, names_claims: bool = False) -> Document:
    """Lay out groups of nodes: those that can be used, then the others with the reasons.

    Args:
        every: True to name all nodes of a group.
        names_claims: True to name the claims, if there may be several.
    """
    usable = [place for place in places if place.usable]
    new = any(not allocation.stored for place in usable for allocation in place.allocations)
    yield from _places_table(
        usable, "allocation on the first" if new else "allocation", every=every, names_claims=names_claims
    )
    others = [place for place in places if not place.usable]
    yield from _places_table(others, "reason", every=every, names_claims=names_claims)


def _places_table(places: Sequence[PlaceData], heading: str, *, every: bool, names_claims: bool) -> Document:
    if not places:
        return
    yield GAP
    rows = []
    for place in places:
        nodes = place.nodes if every else (listed(place.nodes),)
        told = place_lines(place, names_claims=names_claims)
        rows.append(((str(len(place.nodes)),), nodes, told or ("-",)))
    yield table(("nodes", "names", heading), rows, numeric=(0,))


def _problems(pool: PoolData) -> Iterator[str]:
    if pool.problem:
        yield f"not used: {pool.problem}"
    if pool.outdated_slices:
        yield f"{counted(pool.outdated_slices, 'slice')} older than generation {pool.generation}"
    if not pool.nodes:
        yield "usable on no node of the snapshot"
    tainted = sum(bool(device.taints) for device in pool.devices)
    if tainted:
        yield f"{tainted} tainted"


def _state(device: DeviceData, pool: PoolData) -> str:
    if device.available:
        return "free"
    if device.free:
        return "tainted" if pool.nodes and not pool.problem else "not used"
    holders = listed([f"{h.claim} ({listed(h.pods)})" if h.pods else h.claim for h in device.holders])
    shares = ", ".join(f"{name} {amount}" for name, amount in device.consumed.items())
    return f"shared by {holders}{f': {shares} consumed' if shares else ''}" if device.shared else f"held by {holders}"
