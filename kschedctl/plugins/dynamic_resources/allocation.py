"""What the claims of a pod have or would get on a node, as Filter found it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kschedctl.api.device import ResourceClaim, ResourceClaimConsumerReference
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.devices.allocation import ClaimAllocation, new_allocations, stored_allocation
from kschedctl.devices.extended_resources import CLAIM_NAME
from kschedctl.devices.inventory import with_claims
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.effects import ObjectChange, changed_objects
from kschedctl.plugins.dynamic_resources.state import State


def with_allocated_claims(cluster: Cluster, pod: Pod, cycle: CycleState, row: int) -> Cluster:
    """The cluster once the claims of a pod have the devices that they get on a node, and are reserved for the pod.

    Parameters
    ----------
    pod : Pod
        The pod that was decided for.
    cycle : CycleState
        What the plugins kept.
    row : int
        The node, one that the pod fits on.
    """
    changed = {(claim.namespace, claim.name): claim for claim in changed_objects(bind_pod_claims(pod, cycle, row))}
    if not changed:
        return cluster
    claims = {(claim.namespace, claim.name): claim for claim in cluster.list(ResourceClaim)}
    written = (claim for claim in (claims | changed).values() if isinstance(claim, ResourceClaim))
    return with_claims(cluster, written)


def bind_pod_claims(pod: Pod, cycle: CycleState, row: int) -> Iterator[ObjectChange]:
    """The claims of a pod that change when it is bound: they are allocated and reserved for it.

    Parameters
    ----------
    pod, cycle, row
        As for ``with_allocated_claims``.
    """
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
    """The allocations of a pod's claims on a node: those that they have, then what the scheduler would write.

    Parameters
    ----------
    cycle : CycleState
        What the plugins kept.
    row : int
        The node.

    Returns
    -------
    tuple of ClaimAllocation
        Empty for a pod without claims, and where these cannot be used on the node.
    """
    state = cycle.read(State)
    if state is None or state.is_empty or state.verdict_of[row] < 0 or not state.available[:, row].all():
        return ()
    verdict = state.verdicts[int(state.verdict_of[row])]
    if verdict.refusal:
        return ()
    stored = tuple(found for claim in state.claims if (found := stored_allocation(claim)) is not None)
    if verdict.allocations is None:
        return stored
    new = new_allocations(verdict.allocations, int(state.place_of[row]))
    return (*stored, *new) if new else ()
