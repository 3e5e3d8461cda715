from __future__ import annotations

import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.kinds import kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.storage import CSIStorageCapacity
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
