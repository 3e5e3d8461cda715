import pytest

from kschedctl.cluster.default_storage_class import default_storage_class, with_default_class
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from tests.builders import make_claim, make_cluster, make_storage_class


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


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        pytest.param(make_claim(storage_class=None), "standard", id="no class"),
        pytest.param(make_claim(storage_class=""), "", id="no class on purpose"),
        pytest.param(make_claim(storage_class="fast"), "fast", id="a class"),
    ],
)
def test_a_new_claim_gets_the_default_class(claim: PersistentVolumeClaim, expected: str) -> None:
    cluster = make_cluster((), (), make_storage_class("standard", default=True))
    assert with_default_class(claim, cluster).spec.storage_class_name == expected
    assert with_default_class(claim, make_cluster()) == claim
