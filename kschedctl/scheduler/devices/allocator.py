"""Device allocation on all nodes at once: one search for each group of nodes with interchangeable devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.core import QuantityText
from kschedctl.objects.device import (
    EXACT_COUNT,
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.quantity import quantity_text
from kschedctl.objects.selectors import IN, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.scheduler.devices.claims import AllocationError, NodeRejectedError, available_on
from kschedctl.scheduler.devices.requests import Alternative, ClaimPlan, plan_claims, relevant_columns
from kschedctl.scheduler.devices.search import Allocated, NodeDevices, Search, TooManyStepsError

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.explain import NotAllocated
    from kschedctl.scheduler.devices.inventory import Inventory

# Kinds of nodes that a search does not distinguish: one search gives the result for all nodes of a kind.


def device_kinds(columns: Iterable[Int64Array], n_devices: int) -> Int64Array:
    """Assign a kind to each device by the columns that influence a search.

    Args:
        columns: The codes of the devices.

    Returns: The kind of each device: the same number for devices with equal codes in all columns.

    >>> device_kinds([np.array([0, 1, 0]), np.array([-1, -1, 4])], 3)
    array([0, 2, 1])
    """
    kinds = np.zeros(n_devices, dtype=np.int64)
    for column in columns:
        if not n_devices or (column == column[0]).all():
            continue
        least, most = int(column.min()), int(column.max())
        kinds = kinds * (most - least + 1) + column - least
        kinds = np.unique(kinds, return_inverse=True)[1].astype(np.int64)
    return kinds


def node_kinds(inventory: Inventory, kinds: Int64Array, rows: Int64Array) -> Int64Array:
    """Assign a kind to each node by the pools and devices that it can use, in search order.

    Returns: The kind of each node: the same number for nodes that a search does not distinguish.
    """
    views = _view_kinds(inventory, kinds)
    pools = inventory.node_pools

    def views_of(at: Int64Array, n_pools: int) -> Int64Array:
        pairs = pools.start[rows[at]][:, np.newaxis] + np.arange(n_pools)
        matrix: Int64Array = views[pools.view[pairs]]
        if inventory.has_counters and not inventory.rules.counters_by_driver:
            return np.hstack([matrix, _same_names(inventory, pools.view[pairs])])
        return matrix

    return _number_rows(pools.start[rows + 1] - pools.start[rows], views_of)


def _view_kinds(inventory: Inventory, kinds: Int64Array) -> Int64Array:
    """Assign a kind to each pool view by its devices and its form: int64, shape (n_views,)."""
    devices = inventory.view_devices

    def kinds_of(at: Int64Array, _: int) -> Int64Array:
        matrix = np.stack([devices[number] for number in at.tolist()])
        return np.hstack([kinds[matrix], inventory.view_form[at][:, np.newaxis]])

    return _number_rows(np.array([len(found) for found in devices], dtype=np.int64), kinds_of)


def _same_names(inventory: Inventory, views: Int64Array) -> Int64Array:
    """Return, for each pool of a node, the position of the node's first pool with the same name; shape of ``views``."""
    codes: dict[str, int] = {}
    names = np.array([codes.setdefault(view.id.pool, len(codes)) for view in inventory.views], dtype=np.int64)
    found = names[views]
    return np.argmax(found[:, :, np.newaxis] == found[:, np.newaxis, :], axis=2) if found.shape[1] else found


def _number_rows(length: Int64Array, rows_at: Callable[[Int64Array, int], Int64Array]) -> Int64Array:
    """Assign equal numbers to equal rows: int64, shape (n_rows,).

    Args:
        length: The length of each row.
        rows_at: Returns the rows at some positions, all of the given length, as a matrix.
    """
    out = np.zeros(len(length), dtype=np.int64)
    n_kinds = 0
    for each in np.unique(length).tolist():
        at = np.flatnonzero(length == each)
        number = device_kinds([column - column.min() for column in rows_at(at, each).T], len(at))
        out[at] = number + n_kinds
        n_kinds += int(number.max(initial=0)) + 1
    return out


CANNOT_ALLOCATE: Final = "cannot allocate all claims"
INVALID_POOLS: Final = "invalid resource pools were encountered"


class SearchOutcome(msgspec.Struct, frozen=True):
    """The outcome of a search, for nodes with interchangeable devices."""

    #: The devices of every claim; ``None`` if there is no solution.
    solution: list[list[Allocated]] | None = None
    #: The reason why the node is rejected; empty if it is not.
    refusal: str = ""
    #: True if the scheduler ends its cycle with an error.
    failed: bool = False
    #: True if the search was given up after too many steps.
    gave_up: bool = False
    #: True if the node is rejected for a pool of its own, which the reason names; see ``Allocations.problem``.
    names_pool: bool = False

    @property
    def is_own(self) -> bool:
        """True if the text of the outcome names the node's own devices, so that each node has another one."""
        return self.failed or self.names_pool


class Allocations(msgspec.Struct):
    """The allocation of claims on each of some nodes."""

    rows: Int64Array
    #: The index into ``outcomes`` for each node.
    outcome_of: Int64Array
    #: The distinct outcomes.
    outcomes: list[SearchOutcome]
    plans: tuple[ClaimPlan, ...]
    _inventory: Inventory
    _kinds: Int64Array
    _problems: dict[int, str] = msgspec.field(default_factory=dict)

    def site(self, row: int) -> NodeDevices:
        """Return the devices that a node can use, with nothing taken."""
        return NodeDevices(self._inventory, row, self._kinds)

    def outcome_at(self, position: int) -> SearchOutcome:
        """Return the outcome on a node by its position among the nodes."""
        return self.outcomes[int(self.outcome_of[position])]

    def problem(self, row: int) -> str:
        """Return the error or rejection that the search ends with on a node; it names the node's own devices."""
        if row not in self._problems:
            try:
                Search(self.plans, self.site(row)).run()
            except (AllocationError, NodeRejectedError) as error:
                self._problems[row] = str(error)
            except TooManyStepsError:
                name = self._inventory.cluster.nodes.names[row]
                self._problems[row] = f"node {name}: timed out trying to allocate devices"
            else:
                raise AssertionError("nodes that look alike differ in the outcome of the search")
        return self._problems[row]


def allocate(claims: Sequence[ResourceClaim], inventory: Inventory, rows: Int64Array) -> Allocations:
    """Allocate claims on each of some nodes, as if the pod were scheduled there.

    Args:
        claims: The claims that have no allocation, in the pod's order.
    """
    plans = plan_claims(claims, inventory)
    kinds = device_kinds(relevant_columns(plans, inventory).values(), len(inventory.devices))
    _, first, outcome_of = np.unique(node_kinds(inventory, kinds, rows), return_index=True, return_inverse=True)
    outcomes = [
        _search_outcome(plans, NodeDevices(inventory, int(rows[position]), kinds)) for position in first.tolist()
    ]
    return Allocations(rows, outcome_of.astype(np.int64), outcomes, plans, inventory, kinds)


def _search_outcome(plans: Sequence[ClaimPlan], site: NodeDevices) -> SearchOutcome:
    try:
        solution = Search(plans, site).run()
    except AllocationError:
        return SearchOutcome(failed=True)
    except NodeRejectedError:
        return SearchOutcome(names_pool=True)
    except TooManyStepsError:
        return SearchOutcome(failed=True, gave_up=True)
    if solution is not None:
        return SearchOutcome(solution)
    rules = site.inventory.rules
    invalid = not rules.invalid_pool_fails and any(pool.invalid and not pool.incomplete for pool in site.pools)
    return SearchOutcome(refusal=INVALID_POOLS if invalid else CANNOT_ALLOCATE)


# The allocation of claims as the scheduler writes it: devices, shares, binding conditions and node selector.

#: The node field in the node selector of an allocation of local devices.
NODE_NAME_FIELD: Final = "metadata.name"


class ClaimAllocation(msgspec.Struct, frozen=True):
    """A claim with its allocation."""

    #: The claim as stored.
    claim: ResourceClaim
    #: The stored allocation, or the one that the scheduler would write.
    result: AllocationResult
    #: True if the allocation is stored in the claim.
    stored: bool = False


def stored_allocation(claim: ResourceClaim) -> ClaimAllocation | None:
    """Return the stored allocation of a claim, or ``None``."""
    allocation = claim.status.allocation
    return None if allocation is None else ClaimAllocation(claim, allocation, stored=True)


def new_allocations(allocations: Allocations, position: int) -> tuple[ClaimAllocation, ...]:
    """Return the allocations that the scheduler would write if it chose a node; empty if there is no solution.

    Args:
        allocations: The allocation of claims on each of some nodes.
    """
    solution = allocations.outcome_at(position).solution
    if solution is None:
        return ()
    site = allocations.site(int(allocations.rows[position]))
    out = []
    for plan, devices in zip(allocations.plans, solution, strict=True):
        asked = {one.full_name: one for alternatives in plan.requests for one in alternatives}
        results = tuple(_device_result(plan, i, one, asked[one.request], site) for i, one in enumerate(devices))
        selector = _node_selector(devices, site)
        result = AllocationResult(devices=DeviceAllocationResult(results=results), node_selector=selector)
        out.append(ClaimAllocation(plan.claim, result))
    return tuple(out)


def _device_result(
    plan: ClaimPlan, number: int, one: Allocated, asked: Alternative, site: NodeDevices
) -> DeviceRequestAllocationResult:
    known, device, rules = site.device_id(one.device), site.device(one.device), site.inventory.rules
    consumed: dict[str, QuantityText] = {name: quantity_text(nanos) for name, nanos in (one.consumed or {}).items()}
    return DeviceRequestAllocationResult(
        request=one.request,
        driver=known.driver,
        pool=known.pool,
        device=known.device,
        admin_access=one.admin_access or None,
        tolerations=asked.tolerations,
        binding_conditions=device.binding_conditions if rules.binding_conditions else (),
        binding_failure_conditions=device.binding_failure_conditions if rules.binding_conditions else (),
        # The scheduler draws a random ID; any ID that distinguishes shares will do.
        share_id=None if one.consumed is None else f"{plan.claim.key}/{number}",
        consumed_capacity=consumed or None,
    )


def _node_selector(devices: Iterable[Allocated], site: NodeDevices) -> NodeSelector | None:
    """Return the node selector of an allocation.

    The selector names one node if a device is local to the node. Otherwise it combines the first terms of the devices'
    node selectors; ``None`` if there are none.
    """
    fields: dict[NodeSelectorRequirement, None] = {}
    expressions: dict[NodeSelectorRequirement, None] = {}
    for one in devices:
        device, spec = site.device(one.device), site.slice(one.device).spec
        of = device if spec.per_device_node_selection else spec
        if of.node_name is not None or (device.binds_to_node and site.inventory.rules.binding_conditions):
            name = NodeSelectorRequirement(key=NODE_NAME_FIELD, operator=IN, values=(site.node,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))
        for term in () if of.node_selector is None else of.node_selector.node_selector_terms[:1]:
            fields |= dict.fromkeys(term.match_fields)
            expressions |= dict.fromkeys(term.match_expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


# Groups of nodes on which claims can be allocated, and the reasons on the other nodes. For explanations only.


class Place(msgspec.Struct, frozen=True):
    """A group of nodes with the same result for the claims."""

    #: The rows of the nodes, ascending.
    rows: Rows
    #: The stored allocations of the claims, or those for the first node; empty if they cannot be allocated.
    allocations: tuple[ClaimAllocation, ...] = ()
    #: The reason why the claims cannot be allocated, in the scheduler's words; empty if they can.
    refusal: str = ""
    #: The explanation for the first node; ``None`` if there is none.
    reason: NotAllocated | None = None

    @property
    def usable(self) -> bool:
        """True if the claims can be allocated on these nodes."""
        return not self.refusal


def places_of(claim: ResourceClaim, inventory: Inventory) -> list[Place]:
    """Return the groups of nodes by result: from the claim's allocation, or else from a search for devices.

    Args:
        claim: The claim; the DeviceClasses that it names must exist.

    Returns: Groups on which the claim can be used first, then by descending number of nodes.
    """
    if claim.status.allocation is not None:
        available = available_on(inventory.cluster, claim, inventory.rules)
        stored = stored_allocation(claim)
        here, elsewhere = np.flatnonzero(available), np.flatnonzero(~available)
        places = [
            Place(here, () if stored is None else (stored,)),
            Place(elsewhere, refusal="its devices are for other nodes"),
        ]
        return [place for place in places if len(place.rows)]
    rows = np.arange(len(inventory.cluster.nodes), dtype=np.int64)
    found = allocate([claim], inventory, rows)
    return merge_places(
        _explained_place(found, np.flatnonzero(found.outcome_of == number), outcome)
        for number, outcome in enumerate(found.outcomes)
    )


def merge_places(places: Iterable[Place]) -> list[Place]:
    """Merge groups with the same explanation; the details are those of the first node.

    Returns: Groups on which the claims can be used first, then by descending number of nodes.
    """
    members: dict[Hashable, list[Place]] = {}
    for place in places:
        members.setdefault(_explanation_key(place), []).append(place)
    merged = []
    for alike in members.values():
        first = min(alike, key=lambda place: int(place.rows[0]))
        merged.append(replace(first, rows=np.sort(np.concatenate([place.rows for place in alike]))))
    return sorted(merged, key=lambda place: (not place.usable, -len(place.rows), int(place.rows[0])))


def claim_of_class(name: str) -> ResourceClaim:
    """Return a claim for one device of a class, as a manifest would contain it."""
    exactly = ExactDeviceRequest(device_class_name=name, allocation_mode=EXACT_COUNT, count=1)
    request = DeviceRequest(name="device", exactly=exactly)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))
    return ResourceClaim(metadata=ObjectMeta(name=name), spec=spec)


def _explained_place(found: Allocations, positions: Int64Array, outcome: SearchOutcome) -> Place:
    rows, first = found.rows[positions], int(positions[0])
    if outcome.solution is not None:
        return Place(rows, new_allocations(found, first))
    if outcome.failed:
        return Place(rows, refusal=found.problem(int(rows[0])))
    # Most pods have no claims that fail.
    from kschedctl.scheduler.devices.explain import explain_allocation

    refusal = found.problem(int(rows[0])) if outcome.names_pool else outcome.refusal
    return Place(rows, refusal=refusal, reason=explain_allocation(found.plans, found.site(int(rows[0]))))


def _explanation_key(place: Place) -> Hashable:
    """Return the explanation of a group in hashable form; groups with equal explanations are merged."""
    if place.usable:
        return tuple(result.request for one in place.allocations for result in one.result.devices.results)
    from kschedctl.scheduler.devices.explain import RequestSupply

    return place.refusal, () if place.reason is None else tuple(place.reason.sentences(RequestSupply.short))
