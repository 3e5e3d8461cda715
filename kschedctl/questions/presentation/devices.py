"""The document of ``devices``: pools and their problems, and the nodes that claims can be allocated on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.devices import DeviceData, DevicesOverview, DeviceSupply, PlaceData, PoolData
from kschedctl.questions.presentation.device_charts import MOST_POOLS, overview_charts, place_lines, supply_map
from kschedctl.questions.presentation.document import GAP, Document, Heading, Phrases, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.tone import Tone


def overview_document(answer: DevicesOverview, view: View) -> Document:
    """Lay out all pools."""
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.usable else Tone.BAD)
    yield from header(answer, view.now)
    if view.drawn and answer.pools:
        yield from overview_charts(answer, view.overview)
    if answer.pools:
        yield GAP
        rows = [_pool_row(pool) for pool in answer.pools]
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
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.usable else Tone.BAD)
    if answer.pods:
        yield Phrases((f"used by {listed(answer.pods)}",))
    yield from header(answer, view.now)
    if view.drawn and view.overview is not None and answer.places:
        yield GAP
        yield supply_map(answer, view.overview)
    yield from places_section(answer.places, every=view.wide and not view.drawn)
    yield from cautions(answer)
    if answer.places and not view.wide:
        yield from next_questions([Question("All nodes", "devices", answer.argument, {"output": "wide"})])


def places_section(places: Sequence[PlaceData], *, every: bool, names_claims: bool = False) -> Document:
    """Lay out groups of nodes: those that can be used, then the others with the reasons.

    Parameters
    ----------
    places : sequence of PlaceData
        The groups.
    every : bool
        True to name all nodes of a group.
    names_claims : bool
        True to name the claims, if there may be several.
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


def _pool_row(pool: PoolData) -> tuple[str, ...]:
    holders = dict.fromkeys(holder.claim for device in pool.devices for holder in device.holders)
    held = listed(list(holders)) or "-"
    return (
        f"{pool.driver}/{pool.name}",
        listed(pool.nodes) or "-",
        str(len(pool.devices)),
        str(pool.available),
        held,
        "; ".join(_problems(pool)) or "-",
    )


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
