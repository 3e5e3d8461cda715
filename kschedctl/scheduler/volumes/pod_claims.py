"""A pod's claims as the volume plugins use them: names, binding states, and problems that rule them out.

Rules: component-helpers ``storage/ephemeral``, and the scheduler's ``GetPodVolumeClaims``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass, Volume
from kschedctl.scheduler.volumes.claims import claim_not_found, is_delayed, is_fully_bound, not_owned


class ClaimUse(msgspec.Struct, frozen=True):
    """A volume of a pod that refers to a claim.

    Attributes
    ----------
    volume : str
        The name of the pod's volume.
    claim : str
        The name of the claim, in the pod's namespace.
    ephemeral : bool
        True if the claim is generated for the pod, with a name derived from the pod's.
    """

    volume: str
    claim: str
    ephemeral: bool


def claim_use(pod: Pod, volume: Volume) -> ClaimUse | None:
    """Return the claim that a volume of a pod refers to; ``None`` if it refers to none."""
    if volume.persistent_volume_claim is not None:
        return ClaimUse(volume.name, volume.persistent_volume_claim.claim_name, ephemeral=False)
    if volume.ephemeral is not None:
        return ClaimUse(volume.name, f"{pod.name}-{volume.name}", ephemeral=True)
    return None


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """Return the claims of a pod in the order of its volumes; a claim that is mounted twice appears twice."""
    uses = (claim_use(pod, volume) for volume in pod.spec.volumes)
    return (use for use in uses if use is not None)


class PodClaims(msgspec.Struct, frozen=True):
    """The claims of a pod, grouped for the binder, each group in the order of the pod's volumes.

    Attributes
    ----------
    bound : tuple of PersistentVolumeClaim
        The claims that are fully bound.
    delayed : tuple of PersistentVolumeClaim
        The unbound claims for which the scheduler chooses a volume or a node.
    immediate : tuple of PersistentVolumeClaim
        The unbound claims that the scheduler does not bind.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    immediate: tuple[PersistentVolumeClaim, ...]


def pod_claims(cluster: Cluster, pod: Pod) -> list[PersistentVolumeClaim]:
    """Return the existing claims of a pod in the order of its volumes, without those that nothing is known about."""
    found = (cluster.get(PersistentVolumeClaim, use.claim, pod.namespace) for use in claim_uses(pod))
    return [claim for claim in found if claim is not None and not is_undecidable(cluster, claim)]


def is_undecidable(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume of a claim, or its StorageClass if it has no volume, could not be listed.

    Such a claim is treated as if it allowed all nodes.
    """
    of_class = not claim.spec.volume_name and cluster.is_forbidden(StorageClass)
    return of_class or cluster.is_forbidden(PersistentVolume)


def group_claims(cluster: Cluster, claims: Iterable[PersistentVolumeClaim]) -> PodClaims:
    """Group the claims of a pod by binding state."""
    bound = []
    delayed = []
    immediate = []
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
        elif is_delayed(cluster, claim) and not claim.spec.volume_name:
            delayed.append(claim)
        else:
            immediate.append(claim)
    return PodClaims(tuple(bound), tuple(delayed), tuple(immediate))


def claims_problem(cluster: Cluster, pod: Pod) -> str:
    """Return the reason why a pod's claims cannot be used, in the scheduler's words; empty if there is none.

    Source: VolumeBinding ``podHasPVCs``.
    """
    for use in claim_uses(pod):
        claim = cluster.get(PersistentVolumeClaim, use.claim, pod.namespace)
        if claim is None:
            if cluster.is_forbidden(PersistentVolumeClaim, pod.namespace):
                continue
            if use.ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.claim}"'
            return claim_not_found(use.claim)
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            return f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{volume}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{claim.name}" is being deleted'
        if use.ephemeral:
            problem = not_owned(claim, pod)
            if problem:
                return problem
    return ""


def ephemeral_claim_owner(pod: Pod) -> tuple[str, str] | None:
    """Return the name and uid of a pod whose ephemeral volumes have claims named after it; otherwise ``None``."""
    if any(volume.ephemeral is not None for volume in pod.spec.volumes):
        return pod.metadata.name, pod.metadata.uid
    return None
