"""Removal and addition of pods in a what-if, with the ResourceClaims that are removed or added with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.claims import with_own_claims
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.device import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.devices.inventory import with_claims

_POD: Final = "Pod"
_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class PodChanges:
    """A cluster after pods were removed and added.

    Attributes
    ----------
    cluster : Cluster
        The cluster.
    freed : tuple of str
        The ResourceClaims that lost their allocation or were deleted, as ``namespace/name``.
    """

    cluster: Cluster
    freed: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """A description of the freed claims: one line, or none if no claim was freed."""
        return freed_in_words(self.freed)


def freed_in_words(freed: Sequence[str]) -> tuple[str, ...]:
    """Describe the claims that released their devices, in one line; return no line if there are none."""
    if not freed:
        return ()
    if len(freed) == 1:
        return (f"ResourceClaim {freed[0]} releases its devices",)
    return (f"{counted(len(freed), 'ResourceClaim')} ({listed(freed)}) release their devices",)


def move_pods(cluster: Cluster, *, removed: Iterable[int] = (), added: Iterable[Pod] = ()) -> PodChanges:
    """Remove pods from the cluster and add pods to it, with their ResourceClaims.

    A ResourceClaim that was generated for a removed pod is deleted with the pod. Any other ResourceClaim is deallocated
    when the last pod that it is reserved for is removed, as the resource claim controller does. Added pods get the
    claims of their ResourceClaimTemplates.

    Parameters
    ----------
    removed : iterable of int
        The pods to remove, as indices into ``Cluster.pods``.
    added : iterable of Pod
        New pods. A new pod replaces an existing pod of the same namespace and name.
    """
    gone = list(removed)
    cluster, freed = _without_claims(cluster, gone)
    made = [with_own_claims(MadePod(pod), cluster) for pod in added]
    objects: list[ApiObject] = [obj for one in made for obj in one.objects]
    if objects:
        cluster = cluster.with_added(objects)
    return PodChanges(cluster.with_pods(removed=gone, added=[one.pod for one in made]), freed)


@dataclass(slots=True)
class _Leaving:
    """The removed pods, by uid or by namespace and name."""

    uids: set[str] = field(default_factory=set)
    #: Namespaces and names, for references without a uid: those in manifests that no API server has processed.
    names: set[tuple[str, str]] = field(default_factory=set)

    def has(self, namespace: str, name: str, uid: str) -> bool:
        return uid in self.uids if uid else (namespace, name) in self.names


def _without_claims(cluster: Cluster, removed: Sequence[int]) -> tuple[Cluster, tuple[str, ...]]:
    """Release the claims of removed pods; return the cluster and the keys of the freed claims."""
    claims = list(cluster.list(ResourceClaim))
    if not claims or not removed:
        return cluster, ()
    leaving = _Leaving()
    for index in removed:
        metadata = cluster.pods.records[index].metadata
        leaving.uids |= {metadata.uid} - {""}
        leaving.names.add((metadata.namespace, metadata.name))
    kept, freed = [], []
    for claim in claims:
        after = _after(claim, leaving)
        if claim.status.allocation is not None and (after is None or after.status.allocation is None):
            freed.append(claim.key)
        if after is not None:
            kept.append(after)
    if len(kept) == len(claims) and all(after is claim for after, claim in zip(kept, claims, strict=True)):
        return cluster, ()
    return with_claims(cluster, kept), tuple(freed)


def _after(claim: ResourceClaim, leaving: _Leaving) -> ResourceClaim | None:
    """Return a claim as it is after the removal of pods, or ``None`` if it is deleted with its owner."""
    owner = claim.metadata.controller
    if owner is not None and owner.kind == _POD and leaving.has(claim.namespace, owner.name, owner.uid):
        return None

    def goes(user: ResourceClaimConsumerReference) -> bool:
        return user.resource == _PODS and not user.api_group and leaving.has(claim.namespace, user.name, user.uid)

    remaining = tuple(user for user in claim.status.reserved_for if not goes(user))
    if len(remaining) == len(claim.status.reserved_for):
        return claim
    status = replace(claim.status, reserved_for=remaining) if remaining else ResourceClaimStatus()
    return replace(claim, status=status)
