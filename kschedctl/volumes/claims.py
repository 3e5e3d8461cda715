"""PersistentVolumeClaims as a pod uses them: their names, classes and states.

Rules: component-helpers ``storage/volume`` and ``storage/ephemeral``, and the scheduler's ``GetPodVolumeClaims``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QuantityError, parse_quantity
from kschedctl.api.storage import StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import SnapshotError

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
_BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_STORAGE: Final = "storage"
_DEFAULT_CLASS_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A volume of a pod that is a claim.

    Attributes
    ----------
    volume : str
        The name of the pod's volume.
    claim : str
        The name of the claim, in the pod's namespace.
    ephemeral : bool
        Whether the claim is made for the pod, and named after it.
    """

    volume: str
    claim: str
    ephemeral: bool


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """The claims of a pod in the order of its volumes; a claim that is mounted twice comes twice."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.name, volume.persistent_volume_claim.claim_name, ephemeral=False)
        elif volume.ephemeral is not None:
            yield ClaimUse(volume.name, f"{pod.name}-{volume.name}", ephemeral=True)


def claim_key(claim: PersistentVolumeClaim) -> str:
    """``namespace/name``."""
    return f"{claim.namespace}/{claim.name}"


def claim_not_found(name: str) -> str:
    """What an API server says of a claim that does not exist."""
    return f'persistentvolumeclaim "{name}" not found'


def not_owned(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Why an ephemeral volume's claim is not the pod's; empty where it is."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.metadata.uid and claim.namespace == pod.namespace:
        return ""
    return f"PVC {claim_key(claim)} was not created for pod {pod.key} (pod is not owner)"


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The name of the claim's StorageClass, empty where it asks for none; the old annotation goes first."""
    annotated = claim.metadata.annotations.get(_BETA_STORAGE_CLASS)
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim says which class it wants, be it none; the others are given the default class."""
    return _BETA_STORAGE_CLASS in claim.metadata.annotations or claim.spec.storage_class_name is not None


def volume_class(volume: PersistentVolume) -> str:
    """The name of the volume's StorageClass; the old annotation goes first."""
    return volume.metadata.annotations.get(_BETA_STORAGE_CLASS, volume.spec.storage_class_name)


def default_storage_class(cluster: Cluster) -> StorageClass | None:
    """The class of claims that do not ask for one: of several the newest, then the first by name."""
    defaults = [
        storage_class
        for storage_class in cluster.list(StorageClass)
        if any(storage_class.metadata.annotations.get(key) == "true" for key in _DEFAULT_CLASS_ANNOTATIONS)
    ]

    def age(storage_class: StorageClass) -> tuple[float, str]:
        created = storage_class.metadata.creation_timestamp
        return (-created.timestamp() if created is not None else float("inf")), storage_class.name

    return min(defaults, key=age, default=None)


def requested_storage(claim: PersistentVolumeClaim) -> int | None:
    """How much the claim asks for in nano-bytes; ``None`` where it does not say.

    Raises
    ------
    SnapshotError
        Where that is not a quantity.
    """
    text = claim.spec.resources.requests.get(_STORAGE)
    if text is None:
        return None
    try:
        return parse_quantity(text)
    except QuantityError as error:
        where = f"PersistentVolumeClaim {claim_key(claim)}"
        raise SnapshotError(str(error), where=where, path="spec.resources.requests.storage") from None


def storage_capacity(volume: PersistentVolume) -> int:
    """How much the volume holds in nano-bytes; 0 where it does not say.

    Raises
    ------
    SnapshotError
        Where that is not a quantity.
    """
    text = volume.spec.capacity.get(_STORAGE)
    if text is None:
        return 0
    try:
        return parse_quantity(text)
    except QuantityError as error:
        where = f"PersistentVolume {volume.name}"
        raise SnapshotError(str(error), where=where, path="spec.capacity.storage") from None


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has a volume and the controller has finished binding it."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_delayed(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim's class waits for the first pod; not where the class does not exist."""
    name = claim_class(claim)
    storage_class = cluster.get(StorageClass, name) if name else None
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume names the claim, by name and, where it gives one, by uid."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and (reference.namespace, reference.name) == (claim.namespace, claim.name)
        and reference.uid in ("", claim.metadata.uid)
    )


@dataclass(frozen=True, slots=True)
class PodClaims:
    """A pod's claims as the binder takes them, each group in the order of the pod's volumes.

    Attributes
    ----------
    bound : tuple of PersistentVolumeClaim
        Bound for good.
    delayed : tuple of PersistentVolumeClaim
        Not bound; the scheduler chooses a volume or a node for them.
    immediate : tuple of PersistentVolumeClaim
        Not bound, and not the scheduler's to bind.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    immediate: tuple[PersistentVolumeClaim, ...]


def pod_claims(cluster: Cluster, pod: Pod) -> list[PersistentVolumeClaim]:
    """The claims of a pod in the order of its volumes. Those that do not exist are left out."""
    found = (cluster.get(PersistentVolumeClaim, use.claim, pod.namespace) for use in claim_uses(pod))
    return [claim for claim in found if claim is not None]


def group_claims(cluster: Cluster, claims: Iterable[PersistentVolumeClaim]) -> PodClaims:
    """Group the claims of a pod."""
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
    """Why a pod's claims cannot be used at all, in the scheduler's words; empty where they can.

    Source: VolumeBinding ``podHasPVCs``.
    """
    for use in claim_uses(pod):
        claim = cluster.get(PersistentVolumeClaim, use.claim, pod.namespace)
        if claim is None:
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
