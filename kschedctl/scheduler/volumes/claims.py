"""PersistentVolumeClaims and their volumes: names, classes, sizes and states.

Rules: component-helpers ``storage/volume`` and ``storage/ephemeral``.
"""

from __future__ import annotations

from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import BETA_STORAGE_CLASS
from kschedctl.common.errors import SnapshotError
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError, parse_quantity
from kschedctl.objects.selectors import NodeSelector
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass

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

    Raises
    ------
    SnapshotError
        If the request is not a quantity.
    """
    text = claim.spec.resources.requests.get(_STORAGE)
    if text is None:
        return None
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise SnapshotError(str(error), where=claim.ref, path="spec.resources.requests.storage") from None


def storage_capacity(volume: PersistentVolume) -> int:
    """Return the volume's capacity in nano-bytes; 0 if it declares none.

    Raises
    ------
    SnapshotError
        If the capacity is not a quantity.
    """
    text = volume.spec.capacity.get(_STORAGE)
    if text is None:
        return 0
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise SnapshotError(str(error), where=volume.ref, path="spec.capacity.storage") from None


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Report whether the claim has a volume and the controller has finished binding it."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


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
