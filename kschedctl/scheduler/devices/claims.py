"""The claims of a pod: their identity, problems that keep the pod pending, and the nodes of allocated claims."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching
from kschedctl.common.arrays import Mask
from kschedctl.objects.device import (
    FIRST_AVAILABLE_MAX,
    AllocationResult,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod, PodResourceClaim
from kschedctl.objects.quantity import Amount, parse_quantity
from kschedctl.objects.releases.rules import DeviceRules
from kschedctl.scheduler.devices.capacity import own_names


class AllocationError(Exception):
    """An error that ends the scheduling cycle, in the scheduler's words."""


class NodeRejectedError(Exception):
    """A reason for which claims cannot be allocated on a node, in the scheduler's words; other nodes are tried."""


#: The kinds of objects that describe devices, and what is allocated of them.
KINDS: Final[frozenset[type[ApiObject]]] = frozenset({ResourceSlice, DeviceTaintRule, ResourceClaim, DeviceClass})
#: The time that a device may take to become ready, unless the configuration says otherwise.
BINDING_TIMEOUT: Final = timedelta(minutes=10)


class ClaimProblemError(Exception):
    """A problem of a claim that keeps the pod from being scheduled, in the scheduler's words."""


def pod_claims(cluster: Cluster, pod: Pod, rules: DeviceRules) -> list[ResourceClaim]:
    """Return the claims of a pod, in the pod's order, without those that nothing is known about.

    Raises ClaimProblemError for a claim that does not exist, is being deleted, or belongs to another pod.
    """
    out = []
    for entry in pod.spec.resource_claims:
        name, is_made = _claim_name(pod, entry)
        if not name:
            continue
        claim = cluster.get(ResourceClaim, name, pod.namespace)
        if claim is None and cluster.is_forbidden(ResourceClaim, pod.namespace):
            continue
        if claim is None:
            raise ClaimProblemError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimProblemError(f'resourceclaim "{name}" is being deleted')
        controller = claim.metadata.controller
        if is_made and (controller is None or controller.uid != pod.metadata.uid):
            raise ClaimProblemError(rules.ownership_problem.format(claim=claim.key, pod=pod.key))
        # Without the right to list these kinds, the devices for a claim without an allocation are unknown.
        unknown = cluster.is_forbidden(ResourceSlice) or cluster.is_forbidden(DeviceClass)
        if claim.status.allocation is not None or not unknown:
            out.append(claim)
    return out


def _claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[str, bool]:
    """Return the name of a claim, empty if none is needed, and whether a template generates it for the pod."""
    if entry.resource_claim_name:
        return entry.resource_claim_name, False
    if not entry.resource_claim_template_name:
        problem = "none of the supported fields are set"
        raise ClaimProblemError(f'pod "{pod.key}", spec.resourceClaim "{entry.name}": {problem}')
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name, True
    raise ClaimProblemError(f'pod "{pod.key}": ResourceClaim not created yet')


def check_classes(cluster: Cluster, claim: ResourceClaim) -> None:
    """Check that the DeviceClasses of a claim's requests exist.

    Raises ClaimProblemError for a class that does not exist.
    Raises AllocationError for a request without a DeviceClass.
    """
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            _check_class(cluster, request.exactly.device_class_name, request.name)
        elif not request.first_available:
            raise ClaimProblemError(f"resource claim {claim.key}, request {request.name}: unknown request type")
        for sub in request.first_available if request.exactly is None else ():
            _check_class(cluster, sub.device_class_name, f"{request.name}/{sub.name}")


def _check_class(cluster: Cluster, name: str, request: str) -> None:
    if not name:
        raise AllocationError(f"request {request}: unsupported request type")
    if cluster.get(DeviceClass, name) is None:
        raise ClaimProblemError(f"request {request}: device class {name} does not exist")


def available_on(cluster: Cluster, claim: ResourceClaim, rules: DeviceRules) -> Mask:
    """Return the nodes on which an allocated claim can be used: bool, shape (n_nodes,)."""
    mask = np.ones(len(cluster.nodes), dtype=np.bool_)
    allocation = claim.status.allocation
    if allocation is None:
        return mask
    if allocation.node_selector is not None:
        mask = nodes_matching(cluster.nodes, allocation.node_selector)
    if rules.optional_node_operations and any(r.skip_node_operations for r in allocation.devices.results):
        declared = ["DRAOptionalNodeOperations" in node.status.declared_features for node in cluster.nodes.objects]
        mask = mask & np.array(declared, dtype=np.bool_)
    return mask


def is_lost(claim: ResourceClaim, moment: datetime | None, timeout: timedelta = BINDING_TIMEOUT) -> bool:
    """Report whether an allocated device has failed to become ready, or takes too long.

    Args:
        moment: The time of the check; without it, no device is late.
        timeout: The time that a device may take; 10 minutes by default.
    """
    allocation = claim.status.allocation
    if allocation is None:
        return False
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        wanted = (result.driver, result.pool, result.device)
        status = next((one for one in claim.status.devices if (one.driver, one.pool, one.device) == wanted), None)
        if status is None:
            return _is_late(allocation, moment, timeout)
        states: dict[str, str] = {}
        for condition in status.conditions:
            states.setdefault(condition.type, condition.status)
        if any(states.get(name) == "True" for name in result.binding_failure_conditions):
            return True
        if any(states.get(name) != "True" for name in result.binding_conditions):
            return _is_late(allocation, moment, timeout)
    return False


def _is_late(allocation: AllocationResult, moment: datetime | None, timeout: timedelta) -> bool:
    since = allocation.allocation_timestamp
    return since is not None and moment is not None and since + timeout < moment


def alternatives_score(claim: ResourceClaim, chosen: Sequence[str]) -> int:
    """Return the score of an allocation: for each request with alternatives, 8 minus the index of the chosen one.

    Args:
        chosen: The allocated requests, as ``request/alternative`` for alternatives.
    """
    names = {name for name in chosen if name.count("/") == 1}
    return sum(
        FIRST_AVAILABLE_MAX - i
        for request in claim.spec.devices.requests
        if request.exactly is None
        for i, sub in enumerate(request.first_available)
        if f"{request.name}/{sub.name}" in names
    )


# The allocated devices and the claims that hold them (upstream ``allocateddevices.go``).


class DeviceID(NamedTuple):
    """The ID of a device: driver, pool and name."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class PoolID(NamedTuple):
    """The ID of a pool: driver and name."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class Usage(msgspec.Struct, frozen=True):
    """The allocated devices; results with admin access are not counted."""

    #: The devices that are allocated as a whole.
    whole: set[DeviceID] = msgspec.field(default_factory=set)
    #: The devices of which a share is allocated.
    shared: set[DeviceID] = msgspec.field(default_factory=set)
    #: The allocated capacity of shared devices, in nano-units; only devices whose results list consumed capacity. The
    #: names are those in the results, without the driver's domain if names have domains.
    consumed: dict[DeviceID, dict[str, int]] = msgspec.field(default_factory=dict)
    #: The claims that hold a device or a share of it, in snapshot order.
    holders: dict[DeviceID, list[ResourceClaim]] = msgspec.field(default_factory=dict)
    #: The problems of claims whose consumed capacity is negative, in the scheduler's words.
    negative: list[str] = msgspec.field(default_factory=list)

    @property
    def problem(self) -> str:
        """The error for pods with claims to allocate; empty if there is none."""
        if not self.negative:
            return ""
        more = f" (and {len(self.negative) - 1} more claims with invalid consumed capacity)"
        return min(self.negative) + (more if len(self.negative) > 1 else "")

    def allocated(self, device: DeviceID) -> bool:
        """Report whether a device is allocated, as a whole or in part."""
        return device in self.whole or device in self.shared or device in self.consumed


def gather_usage(claims: Iterable[ResourceClaim], rules: DeviceRules) -> Usage:
    """Collect the allocations of claims.

    A share takes only its capacity if capacity is consumable; otherwise it takes the whole device.
    """
    usage = Usage()
    for claim in claims:
        if claim.status.allocation is None:
            continue
        problem = _negative_capacity(claim) if rules.capacity_requests and rules.refuses_negative_capacity else ""
        if problem:
            usage.negative.append(problem)
        for result in claim.status.allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceID(result.driver, result.pool, result.device)
            usage.holders.setdefault(device, []).append(claim)
            if not rules.capacity_requests or result.share_id is None:
                usage.whole.add(device)
                continue
            usage.shared.add(device)
            if result.consumed_capacity is None:
                continue
            consumed = usage.consumed.setdefault(device, {})
            amounts = result.consumed_capacity
            for name, amount in (own_names(amounts, result.driver) if rules.names_have_domains else amounts).items():
                consumed[name] = consumed.get(name, 0) + parse_quantity(amount)
    return usage


def _negative_capacity(claim: ResourceClaim) -> str:
    """Return the problem if a claim consumes a negative capacity; empty if there is none."""
    for result in () if claim.status.allocation is None else claim.status.allocation.devices.results:
        for name, amount in sorted((result.consumed_capacity or {}).items()):
            if parse_quantity(amount) < 0:
                where = f"claim {claim.key}, device {DeviceID(result.driver, result.pool, result.device)}"
                return f'{where}: consumed capacity "{name}" must not be negative, got {Amount.parse(amount)}'
    return ""
