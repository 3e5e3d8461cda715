from __future__ import annotations

from kschedctl.api.storage import StorageClass
from kschedctl.volumes.default_class import default_storage_class
from tests.builders import make_cluster, make_storage_class


def created(name: str, time: str) -> StorageClass:
    """A default class with a creation time."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return make_storage_class(name, metadata={"name": name, "annotations": annotations, "creationTimestamp": time})


def test_of_several_default_classes_the_newest_counts_then_the_first_by_name() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    found = default_storage_class(make_cluster((), (), created("a", old), created("c", new), created("b", new)))
    assert found is not None
    assert found.name == "b"
    assert default_storage_class(make_cluster()) is None
