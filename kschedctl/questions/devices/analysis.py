"""The analysis behind ``devices``: all devices, or the nodes on which a claim or a class can be allocated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Rows
from kschedctl.common.wording import counted, listed
from kschedctl.objects.device import DeviceClass, DeviceRequestAllocationResult, ResourceClaim
from kschedctl.objects.quantity import quantity_text
from kschedctl.objects.selectors import NodeSelector, SelectorError, parse_node_term
from kschedctl.questions.answer import OperandsData
from kschedctl.questions.devices.answer import (
    AllocationData,
    DeviceData,
    DevicesOverview,
    DeviceSupply,
    GivenData,
    HolderData,
    PlaceData,
    PoolData,
)
from kschedctl.questions.devices.request import DevicesRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import Provenance, envelope, provenance
from kschedctl.scheduler.devices.allocator import NODE_NAME_FIELD, ClaimAllocation, Place, claim_of_class, places_of
from kschedctl.scheduler.devices.claims import AllocationError, ClaimProblemError, check_classes
from kschedctl.scheduler.devices.explain import RequestSupply
from kschedctl.scheduler.devices.overview import PoolOverview, pool_overviews
from kschedctl.scheduler.devices.taints import untolerated
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.trials.completeness import missing_for_devices, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory

# Allocations of claims as data.


def allocation_data(allocation: ClaimAllocation) -> AllocationData:
    """Return the allocation of a claim as data."""
    selector = allocation.result.node_selector
    return AllocationData(
        claim=allocation.claim.key,
        stored=allocation.stored,
        devices=tuple(map(_given, allocation.result.devices.results)),
        node_selector=None if selector is None else msgspec.to_builtins(selector),
        for_nodes=_nodes(selector),
    )


def _given(result: DeviceRequestAllocationResult) -> GivenData:
    return GivenData(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        admin_access=bool(result.admin_access),
        shared=result.share_id is not None,
        consumed_capacity={name: str(amount) for name, amount in (result.consumed_capacity or {}).items()},
        binding_conditions=result.binding_conditions,
        binding_failure_conditions=result.binding_failure_conditions,
    )


def _nodes(selector: NodeSelector | None) -> str:
    if selector is None:
        return "all nodes"
    terms = []
    for term in selector.node_selector_terms:
        try:
            parsed = parse_node_term(term)
        except SelectorError:
            return "nodes of an invalid selector"
        if parsed is None:
            continue
        if not parsed.labels and [(one.key, one.operator) for one in parsed.fields] == [(NODE_NAME_FIELD, "In")]:
            return f"node {parsed.fields[0].values[0]}"
        terms.append(" and ".join(map(str, (*parsed.labels, *parsed.fields))))
    return f"nodes with {' or '.join(terms)}" if terms else "no node"


# The answers of ``devices``, from pools and groups of nodes.


def overview_answer(inventory: Inventory, provenance: Provenance) -> DevicesOverview:
    """Return the answer for all pools."""
    pools = tuple(_pool(pool, inventory.cluster) for pool in pool_overviews(inventory))
    n_devices, held = sum(len(pool.devices) for pool in pools), sum(pool.allocated for pool in pools)
    available = sum(pool.available for pool in pools)
    problems = sum(bool(pool.problem) for pool in pools)
    if pools:
        said = f"{counted(n_devices, 'device')} in {counted(len(pools), 'pool')}: {available} free, {held} held"
        if rest := n_devices - available - held:
            said += f", {rest} tainted or not used"
        unused = f"; the devices of {counted(problems, 'pool')} are not used" if problems else ""
        summary = f"{said}{unused}."
    else:
        summary = "The snapshot has no devices."
    return DevicesOverview(**envelope(inventory.cluster, provenance), summary=summary, pools=pools)


def claim_answer(claim: ResourceClaim, inventory: Inventory, provenance: Provenance) -> DeviceSupply:
    """Return the nodes on which a claim can be allocated, or can be used if it is allocated."""
    problem, places = _places(claim, inventory)
    allocated = claim.status.allocation is not None
    where = _where(places, inventory.cluster)
    if problem:
        summary = f"{claim.key} cannot be allocated on any node: {problem}."
    elif allocated:
        summary = f"{claim.key} is allocated and can be used on {where}."
    else:
        summary = f"{claim.key} can be allocated on {where}."
    return DeviceSupply(
        **envelope(inventory.cluster, provenance, _limits(inventory)),
        subject="claim",
        name=claim.key,
        summary=summary,
        allocated=allocated,
        pods=tuple(user.name for user in claim.status.reserved_for),
        problem=problem,
        places=places,
    )


def class_answer(device_class: DeviceClass, inventory: Inventory, provenance: Provenance) -> DeviceSupply:
    """Return the nodes on which a claim for one device of a class can be allocated."""
    problem, places = _places(claim_of_class(device_class.name), inventory)
    return DeviceSupply(
        **envelope(inventory.cluster, provenance, _limits(inventory)),
        subject="class",
        name=device_class.name,
        summary=f"A device of class {device_class.name} can be allocated on {_where(places, inventory.cluster)}.",
        allocated=False,
        pods=(),
        problem=problem,
        places=places,
    )


def _places(claim: ResourceClaim, inventory: Inventory) -> tuple[str, tuple[PlaceData, ...]]:
    """Return the reason why a claim cannot be allocated at all, and the groups of nodes with their outcomes."""
    if claim.status.allocation is None:
        try:
            check_classes(inventory.cluster, claim)
        except (ClaimProblemError, AllocationError) as problem:
            return str(problem), ()
    return "", tuple(place_data(place, inventory.cluster) for place in places_of(claim, inventory))


def _where(places: Iterable[PlaceData], cluster: Cluster) -> str:
    nodes = [node for place in places if place.usable for node in place.nodes]
    of_all = f"of {counted(len(cluster.nodes), 'node')}"
    return f"{len(nodes)} {of_all}: {listed(nodes)}" if nodes else f"none {of_all}"


def _limits(inventory: Inventory) -> Iterable[NotModelled]:
    limits = [NotModelled(what, "the answer assumes that no device matches it") for what in inventory.not_modelled]
    if not inventory.rules.allocates:
        effect = "devices and claims are shown with the rules of the release that introduced it"
        limits.append(NotModelled("the feature gate DynamicResourceAllocation, which is off by default", effect))
    return limits


def _node_names(rows: Rows, cluster: Cluster) -> tuple[str, ...]:
    return tuple(cluster.nodes.names[row] for row in rows.tolist())


def _pool(pool: PoolOverview, cluster: Cluster) -> PoolData:
    return PoolData(
        driver=pool.id.driver,
        name=pool.id.pool,
        generation=pool.generation,
        slices=pool.n_slices,
        slices_wanted=pool.n_slices_wanted,
        outdated_slices=pool.n_outdated,
        nodes=_node_names(pool.rows, cluster),
        problem=pool.problem,
        devices=tuple(
            DeviceData(
                name=device.id.device,
                free=device.free,
                available=device.free
                and (not pool.problem and len(pool.rows) > 0)
                and untolerated(device.device.taints, ()) is None,
                shared=not device.free and not device.whole,
                consumed={name: quantity_text(nanos) for name, nanos in device.consumed.items()},
                taints=tuple(map(str, device.device.taints)),
                holders=tuple(
                    HolderData(claim.key, tuple(user.name for user in claim.status.reserved_for))
                    for claim in device.holders
                ),
            )
            for device in pool.devices
        ),
    )


def place_data(place: Place, cluster: Cluster, *, names_claims: bool = False) -> PlaceData:
    """Return a group of nodes as data.

    Args:
        names_claims: True if reasons name the claim, because there may be several claims.
    """
    worded = RequestSupply.words if names_claims else RequestSupply.short
    reason = place.reason
    return PlaceData(
        usable=place.usable,
        nodes=_node_names(place.rows, cluster),
        allocations=tuple(map(allocation_data, place.allocations)),
        refusal=place.refusal,
        reasons=() if reason is None else tuple(reason.sentences(worded)),
        selectors=() if reason is None else tuple(reason.selectors()),
        operands=OperandsData(reason),
    )


def devices(
    cluster: LoadedCluster, request: DevicesRequest, handle: AnalysisHandle
) -> tuple[DevicesOverview | DeviceSupply, ...]:
    """Report all devices, or the nodes on which each claim or a device of each class can be allocated.

    Raises ClusterError if the ResourceSlices could not be listed.
    """
    from kschedctl.scheduler.devices.inventory import Inventory

    cluster.require_nodes()
    inventory = Inventory.of(cluster.cluster, cluster.release_choice.release.devices)
    if not request.subjects:
        require_listed(cluster.cluster, "ResourceSlice")
        return (overview_answer(inventory, provenance(cluster, missing_for_devices(cluster.cluster, ()))),)
    return tuple(_supply(cluster, inventory, subject) for subject in request.subjects)


def _supply(cluster: LoadedCluster, inventory: Inventory, subject: ResourceClaim | DeviceClass) -> DeviceSupply:
    claim = claim_of_class(subject.name) if isinstance(subject, DeviceClass) else subject
    rests_on = provenance(cluster, missing_for_devices(cluster.cluster, [claim]))
    if isinstance(subject, DeviceClass):
        return class_answer(subject, inventory, rests_on)
    return claim_answer(subject, inventory, rests_on)
