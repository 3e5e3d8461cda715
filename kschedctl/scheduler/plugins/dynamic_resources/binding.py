"""The allocations of a pod's claims on a node: existing ones, and those that Filter found, which binding writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.device import ResourceClaim, ResourceClaimConsumerReference
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.devices.extended_resources import CLAIM_NAME
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.events import ObjectChange, changed_objects
from kschedctl.scheduler.plugins.dynamic_resources.state import State

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.allocator import ClaimAllocation


def with_allocated_claims(cluster: Cluster, pod: Pod, cycle: CycleState, row: int) -> Cluster:
    """Return the cluster after a pod's claims are allocated on a node and reserved for the pod.

    Args:
        row: The row of the node, on which the pod fits.
    """
    changed = {(claim.namespace, claim.name): claim for claim in changed_objects(bind_pod_claims(pod, cycle, row))}
    if not changed:
        return cluster
    from kschedctl.scheduler.devices.inventory import with_claims

    claims = {(claim.namespace, claim.name): claim for claim in cluster.list(ResourceClaim)}
    written = (claim for claim in (claims | changed).values() if isinstance(claim, ResourceClaim))
    return with_claims(cluster, written)


def bind_pod_claims(pod: Pod, cycle: CycleState, row: int) -> Iterator[ObjectChange]:
    """Yield the claims that change when the pod is bound: they are allocated and reserved for the pod."""
    uid = pod.metadata.uid or pod.key
    for found in allocations_on(cycle, row):
        status = found.claim.status
        if any(user.name == pod.name and user.uid == uid for user in status.reserved_for):
            continue
        user = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=uid)
        status = replace(status, allocation=found.result, reserved_for=(*status.reserved_for, user))
        is_new = found.claim.name == CLAIM_NAME
        name = f"{pod.name}-extended-resources" if is_new else found.claim.name
        claim = replace(found.claim, metadata=replace(found.claim.metadata, name=name), status=status)
        yield ObjectChange(claim, None if is_new else found.claim)


def allocations_on(cycle: CycleState, row: int) -> tuple[ClaimAllocation, ...]:
    """Return the allocations of a pod's claims on a node: the existing ones, then those that the scheduler would write.

    Returns: Empty for a pod without claims, and if the claims cannot be used on the node.
    """
    state = cycle.read(State)
    if state is None or state.is_empty or state.verdict_of[row] < 0 or not state.available[:, row].all():
        return ()
    verdict = state.verdicts[int(state.verdict_of[row])]
    if verdict.refusal:
        return ()
    from kschedctl.scheduler.devices.allocator import new_allocations, stored_allocation

    stored = tuple(found for claim in state.claims if (found := stored_allocation(claim)) is not None)
    if verdict.allocations is None:
        return stored
    new = new_allocations(verdict.allocations, int(state.place_of[row]))
    return (*stored, *new) if new else ()
