"""The default StorageClass, which the PersistentVolume controller sets on claims without a class."""

from __future__ import annotations

from typing import Final

from kschedctl.api.storage import StorageClass
from kschedctl.cluster.cluster import Cluster

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
