import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.kinds import KINDS, is_namespaced, kind_by_name, kind_names, kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.volume import CSIStorageCapacity
from kschedctl.objects.workload import PodDisruptionBudget, ReplicaSet


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("v1", "Node", Node),
        ("apps/v1", "ReplicaSet", ReplicaSet),
        ("policy/v1beta1", "PodDisruptionBudget", PodDisruptionBudget),
        ("storage.k8s.io/v1", "CSIStorageCapacity", CSIStorageCapacity),
        ("v1", "ConfigMap", None),
        ("example.com/v1", "Node", None),
        ("v1", "node", None),
    ],
)
def test_kinds(api_version: str, kind: str, expected: type[ApiObject] | None) -> None:
    assert kind_type(api_version, kind) is expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pod", "Pod"),
        ("Pods", "Pod"),
        ("po", "Pod"),
        ("storageclasses", "StorageClass"),
        ("csistoragecapacities", "CSIStorageCapacity"),
        ("poddisruptionbudgets.policy", "PodDisruptionBudget"),
        ("rs", "ReplicaSet"),
        ("deployment.apps", "Deployment"),
    ],
)
def test_kind_of_a_name(name: str, kind: str) -> None:
    found = kind_by_name(name)
    assert found is not None
    assert found.__name__ == kind


def test_unknown_names_are_no_kind() -> None:
    assert kind_by_name("pot") is None
    assert kind_by_name("pods.apps") is None


def test_every_kind_has_names_of_its_own() -> None:
    assert {kind_by_name(name) for name in kind_names()} == set(KINDS.values())


@pytest.mark.parametrize(
    ("name", "namespaced"), [("pod", True), ("pvc", True), ("deploy", True), ("node", False), ("pv", False)]
)
def test_which_kinds_are_in_namespaces(name: str, namespaced: bool) -> None:
    kind = kind_by_name(name)
    assert kind is not None
    assert is_namespaced(kind) is namespaced
