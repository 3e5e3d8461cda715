"""A new pod of a rolling update that waits for the place of an old one."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.scheduler.cycle.decision import Decision
from tests.builders import decide, make_cluster, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures

FIRST = "maxSurge 0 and maxUnavailable 1 for Deployment default/web, so that an old pod leaves first (untried)"


def replica_set(name: str, revision: int) -> ReplicaSet:
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": True}
    metadata = {"name": name, "namespace": "default", "annotations": annotations, "ownerReferences": [owner]}
    return make_object(ReplicaSet, name, metadata=metadata)


def decision(strategy: dict[str, Any], *, replicas: int = 2, of: str = "new", cpu: str = "3") -> Decision:
    """Two nodes of 4 CPU, each with an old pod of 3 CPU, and a pod that waits."""
    deployment = make_object(Deployment, "web", namespace="default", spec={"replicas": replicas, "strategy": strategy})
    old = [
        make_pod(f"old-{node}", node=node, requests={"cpu": "3"}, owner=("apps/v1", "ReplicaSet", "old"))
        for node in "ab"
    ]
    cluster = make_cluster(
        [make_node("a", cpu="4"), make_node("b", cpu="4")],
        old,
        deployment,
        replica_set("old", 1),
        replica_set("new", 2),
    )
    return decide(make_pod("new-1", requests={"cpu": cpu}, owner=("apps/v1", "ReplicaSet", of)), cluster)


def test_old_pods_keep_their_places() -> None:
    found = decision({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    (first,) = diagnose(found)
    assert first.cause == (
        "no node has 3 cpu free: the most is 1, on a; the old pods of Deployment default/web keep their places until "
        "a new one is ready (maxUnavailable 0)"
    )
    assert first.evidence[0] == "the pod fits on a without the old pod there"
    assert cures(found)[0] == FIRST


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"strategy": {}}, True, id="25 % of 2 replicas is none"),
        pytest.param({"strategy": {}, "replicas": 4}, False, id="25 % of 4 replicas is one"),
        pytest.param({"strategy": {"type": "Recreate"}}, False, id="old pods are stopped first"),
        pytest.param({"strategy": {}, "of": "old"}, False, id="a pod of the old revision"),
        pytest.param({"strategy": {}, "cpu": "5"}, False, id="no place of an old pod is large enough"),
    ],
)
def test_when_it_is_the_update(fields: dict[str, Any], expected: bool) -> None:
    assert (FIRST in cures(decision(**fields))) == expected
