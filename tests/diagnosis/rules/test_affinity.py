"""Required pod affinity that no pod matches."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.pod import Pod
from kschedctl.objects.well_known import HOSTNAME as HOSTNAME_LABEL
from kschedctl.objects.well_known import ZONE
from kschedctl.objects.workload import StatefulSet
from tests.builders import HOSTNAME, decide, make_cluster, make_namespace, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures


def near(**labels: str) -> dict[str, Any]:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(
    ("others", "cause", "cure"),
    [
        pytest.param(
            [make_pod("c", node="a", labels={"app": "cache"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; 1 pod has app=cache",
            "app=cache instead of app=cahce in the pod affinity",
            id="mistyped",
        ),
        pytest.param(
            [make_pod("c", namespace="data", node="a", labels={"app": "cahce"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; "
            "1 pod with these labels is in data",
            "namespaces [data] in the pod affinity",
            id="another namespace",
        ),
        pytest.param(
            [make_pod("c", labels={"app": "cahce"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; default/c matches, "
            "and is pending",
            "get a pod with app=cahce to run first",
            id="pending",
        ),
        pytest.param(
            [make_pod("c", node="a", labels={"app": "web"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one",
            "get a pod with app=cahce to run first",
            id="nothing like it",
        ),
    ],
)
def test_cause_and_cure(others: list[Pod], cause: str, cure: str) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], others, make_namespace("default"), make_namespace("data"))
    decision = decide(make_pod(affinity=near(app="cahce")), cluster)
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


def test_the_pod_that_is_wanted_runs_on_a_full_node() -> None:
    pods = [make_pod("c", node="a", labels={"app": "cache"}, requests={"cpu": "4"})]
    pod = make_pod(requests={"cpu": "1"}, affinity=near(app="cache"))
    (found,) = diagnose(decide(pod, make_cluster([make_node("a"), make_node("b")], pods)))
    assert found.rule == "obstacles"


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
    spec: dict[str, Any] = {"labels": {"app": "kafka"}, "affinity": apart("kafka", HOSTNAME_LABEL), "owner": owner}
    pods = [make_pod(f"kafka-{node}", node=node, **spec) for node in "abc"]
    workload = make_object(StatefulSet, "kafka", namespace="default", spec={"replicas": 4})
    decision = decide(make_pod("kafka-3", **spec), make_cluster(nodes, pods, workload))
    assert "3 replicas of StatefulSet default/kafka: one per node (untried)" in cures(decision)


def test_the_anti_affinity_of_others() -> None:
    """Their pods are not deleted: they would be pending instead."""
    owner = ("apps/v1", "ReplicaSet", "db")
    cluster = make_cluster(
        [make_node("a")], [make_pod("db", node="a", affinity=apart("web", HOSTNAME_LABEL), owner=owner)]
    )
    decision = decide(make_pod(labels={"app": "web"}), cluster)
    (found,) = diagnose(decision)
    assert found.cause == "a has a pod of ReplicaSet default/db, whose own anti-affinity keeps the pod away"
    assert cures(decision) == [
        "add a node like a",
        "correct the required anti-affinity of ReplicaSet default/db, if it is not meant for this pod (untried)",
    ]
