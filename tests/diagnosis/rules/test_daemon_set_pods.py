"""Pods of DaemonSets: full nodes, and host ports that another workload uses."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from tests.builders import decide, make_cluster, make_node, make_object, make_pod

CRITICAL = make_object(PriorityClass, "system-node-critical", value=2000001000)
ADVICE = "give DaemonSet default/log a PriorityClass above 0, so that its pods evict others on a"
DAEMONS = make_object(PriorityClass, "daemons", value=1000)


def tied(node: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def daemon(name: str = "pod", node: str = "a", daemon_set: str = "log", namespace: str = "default", **spec: Any) -> Pod:
    owner = ("apps/v1", "DaemonSet", daemon_set)
    return make_pod(name, namespace=namespace, owner=owner, affinity=tied(node), **spec)


def exporter(image: str, **fields: Any) -> dict[str, Any]:
    port = {"containerPort": 9100, "hostPort": 9100, "protocol": "TCP"}
    return {"containers": [{"name": "c", "image": image, "ports": [port]}], **fields}


@pytest.mark.parametrize(
    ("classes", "first"),
    [
        ([CRITICAL, DAEMONS], "priority class daemons (1000 instead of 0)"),
        ([CRITICAL], "priority class system-node-critical (2000001000 instead of 0, for pods that every node needs)"),
        ([], ADVICE),
    ],
    ids=["own class", "system class only", "no class"],
)
def test_priority_comes_before_deletion(classes: list[PriorityClass], first: str) -> None:
    web = make_pod("web", node="a", requests={"cpu": "3900m"})
    decision = decide(daemon(requests={"cpu": "1"}), make_cluster([make_node("a"), make_node("b")], [web], *classes))
    (found,) = diagnose(decision)
    assert found.cause == "its node a has 0.1 of 4 cpu free, the pod wants 1 cpu"
    assert found.evidence[0] == "DaemonSet default/log makes one pod per node: this one is for a"
    ranked = [each.summary for each in suggest(decision).ranked]
    assert ranked[0] == first
    assert (ADVICE in ranked) == (not classes)
    assert not any("node affinity" in each or "node like" in each for each in ranked)


@pytest.mark.parametrize(
    ("image", "network", "ranked"),
    [
        pytest.param(
            "quay.io/prometheus/node-exporter:v1.9",
            True,
            [
                "remove one of DaemonSet default/log and DaemonSet monitoring/exporter: both want host port 9100",
                "host port 9102 instead of 9100, which DaemonSet monitoring/exporter uses; the container must "
                "listen there, too",
            ],
            id="the same program on the host's network",
        ),
        pytest.param(
            "example/proxy",
            False,
            [
                "host port 9102 instead of 9100, which DaemonSet monitoring/exporter uses",
                "remove one of DaemonSet default/log and DaemonSet monitoring/exporter: both want host port 9100",
            ],
            id="another program",
        ),
    ],
)
def test_two_daemon_sets_want_a_port(image: str, network: bool, ranked: list[str]) -> None:
    other_port = {"containerPort": 80, "hostPort": 9101}
    nodes = [make_node("a"), make_node("b")]
    pods = [
        daemon("e", daemon_set="exporter", namespace="monitoring", node="a", **exporter("docker.io/node-exporter:1")),
        make_pod("x", node="a", containers=[{"name": "c", "image": "i", "ports": [other_port]}]),
    ]
    pods = [make_pod_on(each, "a") for each in pods]
    decision = decide(daemon(**exporter(image, hostNetwork=network)), make_cluster(nodes, pods))
    (found,) = diagnose(decision)
    assert (
        found.cause == "host port 9100/TCP is taken on its node a by DaemonSet monitoring/exporter (pod monitoring/e)"
    )
    told = [each.summary for each in suggest(decision).ranked]
    assert told[:2] == ranked
    assert not any(each.startswith("delete") for each in told)


def make_pod_on(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))


def test_replicas_of_one_workload_are_no_conflict() -> None:
    owner = ("apps/v1", "ReplicaSet", "web")
    pods = [make_pod(f"w{n}", node=n, owner=owner, **exporter("web")) for n in "ab"]
    (found,) = diagnose(decide(make_pod(owner=owner, **exporter("web")), make_cluster(map(make_node, "ab"), pods)))
    assert found.rule == "obstacles"
