"""The default StorageClass: an API server sets it in new claims without a class, a controller in existing ones."""

from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass

BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def default_storage_class(cluster: Cluster) -> StorageClass | None:
    """Return the default StorageClass; the newest one counts, then the first by name."""
    defaults = [
        storage_class
        for storage_class in cluster.list(StorageClass)
        if any(storage_class.metadata.annotations.get(key) == "true" for key in _DEFAULT_CLASS_ANNOTATIONS)
    ]

    def age(storage_class: StorageClass) -> tuple[float, str]:
        created = storage_class.metadata.creation_timestamp
        return (-created.timestamp() if created is not None else float("inf")), storage_class.name

    return min(defaults, key=age, default=None)


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Report whether the claim names a class, even an empty one; other claims get the default class."""
    return BETA_STORAGE_CLASS in claim.metadata.annotations or claim.spec.storage_class_name is not None


def with_default_class(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """Return a new claim as the admission plugin DefaultStorageClass stores it."""
    default = default_storage_class(cluster) if not has_class(claim) else None
    return claim if default is None else replace(claim, spec=replace(claim.spec, storage_class_name=default.name))
