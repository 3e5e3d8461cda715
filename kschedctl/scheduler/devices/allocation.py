"""The allocation of claims as the scheduler writes it: devices, shares, binding conditions and node selector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.objects.core import QuantityText
from kschedctl.objects.device import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from kschedctl.objects.quantity import quantity_text
from kschedctl.objects.selectors import IN, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.scheduler.devices.allocator import Allocations
from kschedctl.scheduler.devices.requests import Alternative, ClaimPlan
from kschedctl.scheduler.devices.search import Allocated
from kschedctl.scheduler.devices.site import NodeDevices

#: The node field in the node selector of an allocation of local devices.
NODE_NAME_FIELD: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class ClaimAllocation:
    """A claim with its allocation.

    Attributes
    ----------
    claim : ResourceClaim
        The claim as stored.
    result : AllocationResult
        The stored allocation, or the one that the scheduler would write.
    stored : bool
        True if the allocation is stored in the claim.
    """

    claim: ResourceClaim
    result: AllocationResult
    stored: bool = False


def stored_allocation(claim: ResourceClaim) -> ClaimAllocation | None:
    """Return the stored allocation of a claim, or ``None``."""
    allocation = claim.status.allocation
    return None if allocation is None else ClaimAllocation(claim, allocation, stored=True)


def new_allocations(allocations: Allocations, position: int) -> tuple[ClaimAllocation, ...]:
    """Return the allocations that the scheduler would write if it chose a node; empty if there is no solution.

    Parameters
    ----------
    allocations : Allocations
        The allocation of claims on each of some nodes.
    position : int
        The position of the node in ``allocations``.
    """
    solution = allocations.outcomes[int(allocations.outcome_of[position])].solution
    if solution is None:
        return ()
    site = allocations.site(int(allocations.rows[position]))
    return tuple(
        ClaimAllocation(plan.claim, _result(plan, devices, site))
        for plan, devices in zip(allocations.plans, solution, strict=True)
    )


def _result(plan: ClaimPlan, devices: Sequence[Allocated], site: NodeDevices) -> AllocationResult:
    asked = {one.full_name: one for alternatives in plan.requests for one in alternatives}
    results = tuple(_device(plan, number, one, asked[one.request], site) for number, one in enumerate(devices))
    selector = _node_selector(devices, site)
    return AllocationResult(devices=DeviceAllocationResult(results=results), node_selector=selector)


def _device(
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
