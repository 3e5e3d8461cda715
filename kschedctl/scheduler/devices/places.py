"""Groups of nodes on which claims can be allocated, and the reasons on the other nodes. For explanations only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.device import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from kschedctl.objects.meta import ObjectMeta
from kschedctl.scheduler.devices.allocation import ClaimAllocation, new_allocations, stored_allocation
from kschedctl.scheduler.devices.allocator import Allocations, SearchOutcome, allocate
from kschedctl.scheduler.devices.claims import available_on
from kschedctl.scheduler.devices.explain import NotAllocated, RequestSupply, explain_allocation
from kschedctl.scheduler.devices.inventory import Inventory


@dataclass(frozen=True, slots=True)
class Place:
    """A group of nodes with the same result for the claims.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes, ascending.
    allocations : tuple of ClaimAllocation
        The stored allocations of the claims, or those for the first node; empty if they cannot be allocated.
    refusal : str
        The reason why the claims cannot be allocated, in the scheduler's words; empty if they can.
    reason : NotAllocated or None
        The explanation for the first node; ``None`` if there is none.
    """

    rows: Rows
    allocations: tuple[ClaimAllocation, ...] = ()
    refusal: str = ""
    reason: NotAllocated | None = None

    @property
    def usable(self) -> bool:
        """True if the claims can be allocated on these nodes."""
        return not self.refusal


def places_of(claim: ResourceClaim, inventory: Inventory) -> list[Place]:
    """Return the groups of nodes by result: from the claim's allocation, or else from a search for devices.

    Parameters
    ----------
    claim : ResourceClaim
        The claim; the DeviceClasses that it names must exist.
    inventory : Inventory
        The devices of the cluster.

    Returns
    -------
    list of Place
        Groups on which the claim can be used first, then by descending number of nodes.
    """
    if claim.status.allocation is not None:
        return _of_allocated(claim, available_on(inventory.cluster, claim, inventory.rules))
    rows = np.arange(len(inventory.cluster.nodes), dtype=np.int64)
    found = allocate([claim], inventory, rows)
    return merge_places(
        _place(found, np.flatnonzero(found.outcome_of == number), outcome)
        for number, outcome in enumerate(found.outcomes)
    )


def merge_places(places: Iterable[Place]) -> list[Place]:
    """Merge groups with the same explanation; the details are those of the first node.

    Returns
    -------
    list of Place
        Groups on which the claims can be used first, then by descending number of nodes.
    """
    members: dict[Hashable, list[Place]] = {}
    for place in places:
        members.setdefault(_told(place), []).append(place)
    merged = [_one(alike) for alike in members.values()]
    return sorted(merged, key=lambda place: (not place.usable, -len(place.rows), int(place.rows[0])))


def claim_of_class(name: str) -> ResourceClaim:
    """Return a claim for one device of a class, as a manifest would contain it."""
    exactly = ExactDeviceRequest(device_class_name=name, allocation_mode=EXACT_COUNT, count=1)
    request = DeviceRequest(name="device", exactly=exactly)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))
    return ResourceClaim(metadata=ObjectMeta(name=name), spec=spec)


def _of_allocated(claim: ResourceClaim, available: Mask) -> list[Place]:
    stored = stored_allocation(claim)
    here, elsewhere = np.flatnonzero(available), np.flatnonzero(~available)
    places = [
        Place(here, () if stored is None else (stored,)),
        Place(elsewhere, refusal="its devices are for other nodes"),
    ]
    return [place for place in places if len(place.rows)]


def _place(found: Allocations, positions: Int64Array, outcome: SearchOutcome) -> Place:
    rows, first = found.rows[positions], int(positions[0])
    if outcome.solution is not None:
        return Place(rows, new_allocations(found, first))
    if outcome.failed:
        return Place(rows, refusal=found.error(int(rows[0])))
    return Place(rows, refusal=outcome.refusal, reason=explain_allocation(found.plans, found.site(int(rows[0]))))


def _one(places: Sequence[Place]) -> Place:
    """Merge groups into one, with the details of the first node."""
    first = min(places, key=lambda place: int(place.rows[0]))
    return replace(first, rows=np.sort(np.concatenate([place.rows for place in places])))


def _told(place: Place) -> Hashable:
    """Return the explanation of a group in hashable form; groups with equal explanations are merged."""
    if place.usable:
        return tuple(result.request for one in place.allocations for result in one.result.devices.results)
    return place.refusal, () if place.reason is None else tuple(place.reason.sentences(RequestSupply.short))
