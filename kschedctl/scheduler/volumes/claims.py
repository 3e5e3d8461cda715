"""PersistentVolumeClaims and their volumes, and a pod's claims as the volume plugins use them."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import BETA_STORAGE_CLASS
from kschedctl.common.errors import SnapshotError
from kschedctl.objects.core import QuantityText
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError, parse_quantity
from kschedctl.objects.selectors import NodeSelector
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass, Volume

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
#: The scheduler's message for a volume that refers to a claim without a name.
NO_CLAIM_NAME: Final = "PersistentVolumeClaim had no name"
_STORAGE: Final = "storage"


def claim_key(claim: PersistentVolumeClaim) -> str:
    """Return the claim's ``namespace/name``."""
    return f"{claim.namespace}/{claim.name}"


def claim_not_found(name: str) -> str:
    """Return the API server's message for a claim that does not exist."""
    return f'persistentvolumeclaim "{name}" not found'


def class_not_found(name: str) -> str:
    """Return the API server's message for a StorageClass that does not exist."""
    return f'storageclass.storage.k8s.io "{name}" not found'


def not_owned(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Return the reason why an ephemeral volume's claim does not belong to the pod; empty if it does."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.metadata.uid and claim.namespace == pod.namespace:
        return ""
    return f"PVC {claim_key(claim)} was not created for pod {pod.key} (pod is not owner)"


def claim_class(claim: PersistentVolumeClaim) -> str:
    """Return the name of the claim's StorageClass, empty for none; the beta annotation takes precedence."""
    annotated = claim.metadata.annotations.get(BETA_STORAGE_CLASS)
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def volume_class(volume: PersistentVolume) -> str:
    """Return the name of the volume's StorageClass; the beta annotation takes precedence."""
    return volume.metadata.annotations.get(BETA_STORAGE_CLASS, volume.spec.storage_class_name)


def storage_class_of(cluster: Cluster, claim: PersistentVolumeClaim) -> StorageClass | None:
    """Return the claim's StorageClass; ``None`` if it names none, or one that does not exist."""
    name = claim_class(claim)
    return cluster.get(StorageClass, name) if name else None


def volume_of(cluster: Cluster, claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """Return the volume that the claim names; ``None`` if it names none, or one that does not exist."""
    name = claim.spec.volume_name
    return cluster.get(PersistentVolume, name) if name else None


def required_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Return the volume's required node affinity, or ``None``."""
    return volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None


def requested_storage(claim: PersistentVolumeClaim) -> int | None:
    """Return the storage that the claim requests, in nano-bytes; ``None`` if it has no request.

    Raises SnapshotError if the request is not a quantity.
    """
    text = claim.spec.resources.requests.get(_STORAGE)
    return None if text is None else quantity_in(claim, "spec.resources.requests.storage", text)


def storage_capacity(volume: PersistentVolume) -> int:
    """Return the volume's capacity in nano-bytes; 0 if it declares none.

    Raises SnapshotError if the capacity is not a quantity.
    """
    return quantity_in(volume, "spec.capacity.storage", volume.spec.capacity.get(_STORAGE, 0))


def quantity_in(source: ApiObject, path: str, text: QuantityText) -> int:
    """Return a quantity in a field of an object, in nano-units; raise SnapshotError if it is none."""
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise SnapshotError(str(error), where=source.ref, path=path) from None


def is_delayed(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    """Report whether the claim's class waits for the first consumer; false if the class does not exist."""
    storage_class = storage_class_of(cluster, claim)
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume names the claim, by name and, if it has one, by uid."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and (reference.namespace, reference.name) == (claim.namespace, claim.name)
        and reference.uid in ("", claim.metadata.uid)
    )


def is_static(storage_class: StorageClass) -> bool:
    """Report whether a class has no provisioner, so that its claims are bound to existing volumes alone."""
    return storage_class.provisioner in ("", NO_PROVISIONER)


# A pod's claims as the volume plugins use them: names, binding states, and problems that rule them out.
#
# Rules: component-helpers ``storage/ephemeral``, and the scheduler's ``GetPodVolumeClaims``.


class ClaimUse(msgspec.Struct, frozen=True):
    """A volume of a pod that refers to a claim."""

    #: The name of the pod's volume.
    volume: str
    #: The name of the claim, in the pod's namespace.
    claim: str
    #: True if the claim is generated for the pod, with a name derived from the pod's.
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
    """The claims of a pod, grouped for the binder, each group in the order of the pod's volumes."""

    #: The claims that are fully bound.
    bound: tuple[PersistentVolumeClaim, ...]
    #: The unbound claims for which the scheduler chooses a volume or a node.
    delayed: tuple[PersistentVolumeClaim, ...]
    #: The unbound claims that the scheduler does not bind.
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
        if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
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
        if use.ephemeral and (problem := not_owned(claim, pod)):
            return problem
    return ""


def ephemeral_claim_owner(pod: Pod) -> tuple[str, str] | None:
    """Return the name and uid of a pod whose ephemeral volumes have claims named after it; otherwise ``None``."""
    if any(volume.ephemeral is not None for volume in pod.spec.volumes):
        return pod.metadata.name, pod.metadata.uid
    return None
