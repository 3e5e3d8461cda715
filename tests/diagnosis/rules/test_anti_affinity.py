"""Anti-affinity in every domain within reach."""

from __future__ import annotations

from typing import Any

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.well_known import HOSTNAME, ZONE
from kschedctl.objects.workload import StatefulSet
from tests.builders import decide, make_cluster, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures


def apart(app: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_more_replicas_than_zones() -> None:
    nodes = [make_node(f"{zone}{i}", zone=zone) for zone in "ab" for i in (1, 2)]
    owner = ("apps/v1", "StatefulSet", "kafka")
    spec: dict[str, Any] = {"labels": {"app": "kafka"}, "affinity": apart("kafka", ZONE), "owner": owner}
    pods = [make_pod(f"kafka-{zone}", node=f"{zone}1", **spec) for zone in "ab"]
    workload = make_object(StatefulSet, "kafka", namespace="default", spec={"replicas": 3})
    decision = decide(make_pod("kafka-2", **spec), make_cluster(nodes, pods, workload))
    (found,) = diagnose(decision)
    assert found.cause == (
        f"all 4 nodes are in a {ZONE} (a and b) with a pod of StatefulSet default/kafka, "
        "from which anti-affinity keeps the pod apart"
    )
    assert cures(decision)[:2] == [
        f"add a node in another {ZONE}: a and b have a pod of StatefulSet default/kafka each (untried)",
        f"2 replicas of StatefulSet default/kafka: one per {ZONE} (untried)",
    ]


def test_replica_on_a_cordoned_node_is_kept() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c", unschedulable=True)]
    owner = ("apps/v1", "StatefulSet", "kafka")
    spec: dict[str, Any] = {"labels": {"app": "kafka"}, "affinity": apart("kafka", HOSTNAME), "owner": owner}
    pods = [make_pod(f"kafka-{node}", node=node, **spec) for node in "abc"]
    workload = make_object(StatefulSet, "kafka", namespace="default", spec={"replicas": 4})
    decision = decide(make_pod("kafka-3", **spec), make_cluster(nodes, pods, workload))
    assert "3 replicas of StatefulSet default/kafka: one per node (untried)" in cures(decision)


def test_the_anti_affinity_of_others() -> None:
    """Their pods are not deleted: they would be pending instead."""
    owner = ("apps/v1", "ReplicaSet", "db")
    cluster = make_cluster([make_node("a")], [make_pod("db", node="a", affinity=apart("web", HOSTNAME), owner=owner)])
    decision = decide(make_pod(labels={"app": "web"}), cluster)
    (found,) = diagnose(decision)
    assert found.cause == "a has a pod of ReplicaSet default/db, whose own anti-affinity keeps the pod away"
    assert cures(decision) == [
        "add a node like a",
        "correct the required anti-affinity of ReplicaSet default/db, if it is not meant for this pod (untried)",
    ]
