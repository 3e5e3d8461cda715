"""Where claims could be allocated, by groups of nodes, and why not elsewhere: for people, not for decisions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kschedctl.api.device import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from kschedctl.api.meta import ObjectMeta
from kschedctl.arrays import Int64Array, Mask, Rows
from kschedctl.devices.allocator import Allocations, Outcome, allocate
from kschedctl.devices.claims import available_on
from kschedctl.devices.explain import NotAllocated, RequestSupply, explain_allocation
from kschedctl.devices.inventory import Inventory
from kschedctl.devices.usage import DeviceID


@dataclass(frozen=True, slots=True)
class GivenDevice:
    """A device that a request gets.

    Attributes
    ----------
    claim : str
        ``namespace/name``.
    request : str
        ``request``, or ``request/alternative``.
    id : DeviceID
        The device.
    """

    claim: str
    request: str
    id: DeviceID


@dataclass(frozen=True, slots=True)
class Place:
    """Nodes on which claims fare alike.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The nodes, ascending.
    devices : tuple of GivenDevice
        What the claims get on the first of them; empty where they cannot be allocated.
    refusal : str
        Why they cannot, in the scheduler's words; empty where they can.
    reason : NotAllocated or None
        What is behind that on the first of them.
    """

    rows: Rows
    devices: tuple[GivenDevice, ...] = ()
    refusal: str = ""
    reason: NotAllocated | None = None

    @property
    def usable(self) -> bool:
        """Whether the claims can be allocated there."""
        return not self.refusal


def given_devices(allocations: Allocations, position: int) -> tuple[GivenDevice, ...]:
    """The devices that claims get on a node: what the scheduler would write if it chose the node.

    Parameters
    ----------
    allocations : Allocations
        What claims get on some nodes.
    position : int
        The node's place among these.
    """
    solution = allocations.outcomes[int(allocations.outcome_of[position])].solution
    if solution is None:
        return ()
    site = allocations.site(int(allocations.rows[position]))
    return tuple(
        GivenDevice(plan.claim.key, one.request, site.device_id(one.device))
        for plan, devices in zip(allocations.plans, solution, strict=True)
        for one in devices
    )


def places_of(claim: ResourceClaim, inventory: Inventory) -> list[Place]:
    """Where a claim can be used: where its allocation is for, else where it could be allocated.

    Parameters
    ----------
    claim : ResourceClaim
        The claim; its classes exist.
    inventory : Inventory
        The devices.

    Returns
    -------
    list of Place
        Those where it can come first, then those with the most nodes.
    """
    if claim.status.allocation is not None:
        return _of_allocated(claim, available_on(inventory.cluster, claim, inventory.rules))
    rows = np.arange(len(inventory.cluster.nodes), dtype=np.int64)
    found = allocate([claim], inventory, rows)
    members: dict[Hashable, list[Place]] = {}
    for number, outcome in enumerate(found.outcomes):
        place = _place(found, np.flatnonzero(found.outcome_of == number), outcome)
        members.setdefault(_told(place), []).append(place)
    merged = [_one(places) for places in members.values()]
    return sorted(merged, key=lambda place: (not place.usable, -len(place.rows), int(place.rows[0])))


def claim_of_class(name: str) -> ResourceClaim:
    """A claim for one device of a class, as a manifest would have it."""
    exactly = ExactDeviceRequest(device_class_name=name, allocation_mode=EXACT_COUNT, count=1)
    request = DeviceRequest(name="device", exactly=exactly)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))
    return ResourceClaim(metadata=ObjectMeta(name=name), spec=spec)


def _of_allocated(claim: ResourceClaim, available: Mask) -> list[Place]:
    allocation = claim.status.allocation
    results = () if allocation is None else allocation.devices.results
    devices = tuple(GivenDevice(claim.key, r.request, DeviceID(r.driver, r.pool, r.device)) for r in results)
    here, elsewhere = np.flatnonzero(available), np.flatnonzero(~available)
    places = [Place(here, devices), Place(elsewhere, refusal="its devices are for other nodes")]
    return [place for place in places if len(place.rows)]


def _place(found: Allocations, positions: Int64Array, outcome: Outcome) -> Place:
    rows, first = found.rows[positions], int(positions[0])
    if outcome.solution is not None:
        return Place(rows, given_devices(found, first))
    if outcome.failed:
        return Place(rows, refusal=found.error(int(rows[0])))
    return Place(rows, refusal=outcome.refusal, reason=explain_allocation(found.plans, found.site(int(rows[0]))))


def _one(places: Sequence[Place]) -> Place:
    """Several places as one, with what is found on the first node of all."""
    first = min(places, key=lambda place: int(place.rows[0]))
    return replace(first, rows=np.sort(np.concatenate([place.rows for place in places])))


def _told(place: Place) -> Hashable:
    """What is told of a place: places of which the same is told are one."""
    if place.usable:
        return tuple(given.request for given in place.devices)
    return place.refusal, () if place.reason is None else tuple(place.reason.sentences(RequestSupply.short))
