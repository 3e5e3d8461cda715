"""Obstacles on the nodes within reach, and pods of DaemonSets on full nodes."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.well_known import ZONE
from tests.builders import GPU, decide, make_cluster, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures

CPU_4 = {"cpu": "4"}


def apart(app: str) -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(
    ("pod", "nodes", "pods", "cause"),
    [
        pytest.param(
            make_pod(requests={"cpu": "2"}),
            [make_node("a"), make_node("b")],
            [make_pod("x", node="a", requests={"cpu": "3"}), make_pod("y", node="b", requests={"cpu": "2500m"})],
            "no node has 2 cpu free: the most is 1.5, on b",
            id="no room",
        ),
        pytest.param(
            make_pod(requests={"cpu": "2"}),
            [make_node("a")],
            [make_pod("x", node="a", requests={"cpu": "3"})],
            "a has 1 of 4 cpu free, the pod wants 2 cpu",
            id="no room on the only node",
        ),
        pytest.param(
            make_pod(requests={"cpu": "8"}),
            [make_node("a"), make_node("b")],
            [],
            "no node has 8 cpu, the largest offers 4",
            id="too large",
        ),
        pytest.param(
            make_pod(requests={GPU: "1"}),
            [make_node("a"), make_node("b")],
            [],
            f"no node offers {GPU}",
            id="nowhere offered",
        ),
        pytest.param(
            make_pod(requests=CPU_4, nodeSelector={"pool": "big"}),
            [make_node("a", labels={"pool": "big"}), make_node("b"), make_node("c")],
            [make_pod("x", node="a", requests={"cpu": "1"})],
            "a with pool=big has 3 of 4 cpu free, the pod wants 4 cpu",
            id="nodes that the selector excludes are no cause",
        ),
        pytest.param(
            make_pod(nodeSelector={"pool": "big"}),
            [make_node("a", labels={"pool": "small"}), make_node("b")],
            [],
            "no node has the label pool=big of nodeSelector",
            id="no node selected",
        ),
        pytest.param(
            make_pod(nodeSelector={"pool": "big"}),
            [make_node("a", labels={"pool": "big"}, unschedulable=True), make_node("b")],
            [],
            "a with pool=big is cordoned",
            id="the only selected node is cordoned",
        ),
        pytest.param(
            make_pod(requests={"cpu": "2"}),
            [
                make_node("a"),
                make_node("b", unschedulable=True),
                make_node("c", taints=["gpu=yes:NoSchedule"]),
                make_node("d", taints=["node.kubernetes.io/unreachable:NoSchedule"]),
            ],
            [make_pod("x", node="a", requests={"cpu": "3"})],
            "d is unreachable: taint node.kubernetes.io/unreachable; b is cordoned; "
            "a has 1 of 4 cpu free, the pod wants 2 cpu; "
            "c is tainted gpu=yes:NoSchedule",
            id="unusual obstacles first, reserved nodes last",
        ),
        pytest.param(
            make_pod(requests={"cpu": "2"}, nodeSelector={"pool": "big"}),
            [
                make_node("a", labels={"pool": "big"}),
                make_node("b", labels={"pool": "big"}, unschedulable=True),
                *(make_node(name, labels={"pool": "small"}) for name in "cde"),
            ],
            [make_pod("x", node="a", requests={"cpu": "3"})],
            "b is cordoned; a has 1 of 4 cpu free, the pod wants 2 cpu; nodeSelector pool=big excludes 3 other nodes",
            id="all nodes are counted, those that the selector excludes as well",
        ),
        pytest.param(
            make_pod(labels={"app": "w"}, affinity=apart("w")),
            [make_node("a"), make_node("b")],
            [make_pod(f"w{n}", node=n, labels={"app": "w"}) for n in "ab"],
            "all 2 nodes have a pod of Pod default/wa and Pod default/wb, from which anti-affinity keeps the pod apart",
            id="anti-affinity",
        ),
    ],
)
def test_cause(pod: Pod, nodes: list[Node], pods: list[Pod], cause: str) -> None:
    found = diagnose(decide(pod, make_cluster(nodes, pods)))
    assert [one.cause for one in found] == [cause]


def test_what_is_free_in_sum_is_told() -> None:
    nodes = [make_node(name) for name in "abc"]
    pods = [make_pod(f"on-{name}", node=name, requests={"cpu": "3"}) for name in "abc"]
    (found,) = diagnose(decide(make_pod(requests={"cpu": "2"}), make_cluster(nodes, pods)))
    assert found.evidence == ("3 cpu are free in sum on 3 nodes, at most 1 on one of them",)


def test_equal_priorities_cannot_be_preempted() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("x", node="a", requests={"cpu": "4"}, priority=100)])
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}, priority=100), cluster))
    assert found.evidence == ("no pod there has a lower priority than this one (100), so none can be preempted",)


def test_nobody_has_reserved_huge_pages() -> None:
    cluster = make_cluster([make_node("a")])
    (found,) = diagnose(decide(make_pod(requests={"hugepages-2Mi": "1Gi"}), cluster))
    assert found.cause == "a offers no hugepages-2Mi"
    first = "reserve 1Gi of hugepages-2Mi on a, if its kernel has not, and restart its kubelet"
    assert found.advice[0].summary == first


def test_a_zone_that_no_node_is_in() -> None:
    wanted = {"key": ZONE, "operator": "In", "values": ["eu-1"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    cluster = make_cluster([make_node(zone, zone=zone) for zone in ("south-a", "south-b")])
    decision = decide(make_pod(affinity=affinity), cluster)
    (found,) = diagnose(decision)
    assert found.cause == f"the node affinity requires {ZONE}=eu-1, which holds on no node"
    assert cures(decision)[0] == f"{ZONE} south-a or south-b instead of eu-1 in the node affinity (untried)"


@pytest.mark.parametrize(
    ("gate", "cause"),
    [
        pytest.param(
            "kueue.x-k8s.io/admission", "Kueue removes the gate when a queue has quota for the workload", id="Kueue"
        ),
        pytest.param("a.b/c", "the gate a.b/c waits for its controller", id="another controller"),
    ],
)
def test_gates(gate: str, cause: str) -> None:
    (found,) = diagnose(decide(make_pod(schedulingGates=[{"name": gate}]), make_cluster([make_node("a")])))
    assert found.cause == cause
    assert found.advice


def test_a_node_without_the_label_of_the_spread() -> None:
    """The nodes with the label are full."""
    spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]
    cluster = make_cluster([make_node("a", zone="z"), make_node("b")], [make_pod("x", node="a", requests={"cpu": "4"})])
    decision = decide(make_pod(requests={"cpu": "1"}, topologySpreadConstraints=spread), cluster)
    (found,) = diagnose(decision)
    assert found.cause == f"a has 0 of 4 cpu free, the pod wants 1 cpu; b has no label {ZONE}"


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
