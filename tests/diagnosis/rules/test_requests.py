"""Requests that are larger than any node, and the part of the pod that makes them so."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.workload import ReplicaSet
from tests.builders import decide, make_cluster, make_container, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures

NODES = [make_node("a"), make_node("b")]
GPU = "nvidia.com/gpu"
LARGER = "add a larger node than a: with 8 cpu free"


def limited(**limits: str) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"limits": limits}}


@pytest.mark.parametrize(
    ("spec", "cause", "cure"),
    [
        pytest.param(
            {
                "containers": [make_container("server", requests={"cpu": "500m"})],
                "initContainers": [make_container("restore", requests={"cpu": "6"})],
            },
            "init container restore asks for 6 cpu (the containers ask for 0.5 afterwards), the largest node has 4",
            "request 4 cpu or less instead of 6 in init container restore",
            id="init container",
        ),
        pytest.param(
            {
                "containers": [make_container("server", requests={"cpu": "500m"})],
                "initContainers": [
                    make_container("proxy", requests={"cpu": "1"}, restartPolicy="Always"),
                    make_container("restore", requests={"cpu": "3500m"}),
                ],
            },
            "init container restore asks for 3.5 cpu beside the 1 of sidecars (the containers ask for 1.5 afterwards), "
            "the largest node has 4",
            "request 3 cpu or less instead of 3.5 in init container restore",
            id="init container beside a sidecar",
        ),
        pytest.param(
            {"containers": [limited(memory="12Gi")]},
            "container c asks for 12Gi memory, its limit (where only a limit is set, the API server takes it as the "
            "request), the largest node has 8Gi",
            "set a request of its own in container c: 8Gi memory or less; the limit of 12Gi stays",
            id="limit",
        ),
        pytest.param(
            {"containers": [make_container("x", requests={"cpu": "3"}), make_container("y", requests={"cpu": "5"})]},
            "container y asks for 5 cpu, the largest node has 4",
            LARGER,
            id="one of two containers",
        ),
        pytest.param(
            {"containers": [make_container(n, requests={"cpu": "2"}) for n in "wxyz"]},
            "the containers ask for 8 cpu together (container w 2, container x 2, container y 2 and container z 2), "
            "the largest node has 4",
            LARGER,
            id="together",
        ),
        pytest.param(
            {"containers": [make_container(requests={"cpu": "1"})], "resources": {"requests": {"cpu": "8"}}},
            "the pod-level request (spec.resources) asks for 8 cpu, the largest node has 4",
            LARGER,
            id="pod level",
        ),
        pytest.param(
            {
                "containers": [make_container(requests={"cpu": "3500m"})],
                "overhead": {"cpu": "4500m"},
                "runtimeClassName": "kata",
            },
            "runtime class kata adds an overhead of 4.5 cpu to the 3.5 that its containers ask for, "
            "the largest node has 4",
            LARGER,
            id="overhead",
        ),
        pytest.param(
            {"containers": [make_container(requests={"cpu": "8"})]},
            "no node has 8 cpu, the largest offers 4",
            LARGER,
            id="the only container",
        ),
        pytest.param(
            {"containers": [make_container(requests={"cpu": "88"})]},
            "no node has 88 cpu, the largest offers 4",
            "request 88m cpu instead of 88 in container c",
            id="thousandths",
        ),
        pytest.param(
            {"containers": [make_container(requests={"memory": "512Gi"})]},
            "no node has 512Gi memory, the largest offers 8Gi",
            "request 512Mi memory instead of 512Gi in container c",
            id="Gi for Mi",
        ),
    ],
)
def test_cause_and_cure(spec: dict[str, Any], cause: str, cure: str) -> None:
    decision = decide(make_pod(**spec), make_cluster(NODES))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


def test_a_pod_that_is_meant_to_be_large() -> None:
    """The pod asks for more than any node has of two resources, so that neither is a slip of the unit."""
    found = cures(decide(make_pod(requests={"cpu": "30", "memory": "300Gi"}), make_cluster(NODES)))
    assert found[0] == "add a larger node than a: with 30 cpu and 300Gi memory free"


def dgx(name: str, healthy: int, **own: Any) -> Node:
    node = make_node(name, offers={GPU: str(healthy)}, **own)
    return replace(node, status=replace(node.status, capacity={**node.status.allocatable, GPU: "8"}))


@pytest.mark.parametrize(
    ("nodes", "cause", "cures"),
    [
        pytest.param(
            [dgx("a", 7), make_node("b")],
            "a has 8 nvidia.com/gpu, but only 7 are allocatable: 1 is unhealthy",
            ["repair or reset the unhealthy device (nvidia.com/gpu) on a"],
            id="one device",
        ),
        pytest.param(
            [dgx("a", 1), dgx("b", 6)],
            "b has 8 nvidia.com/gpu, but only 6 are allocatable: 2 are unhealthy; "
            "1 other node has unhealthy devices as well",
            ["repair or reset the 2 unhealthy devices (nvidia.com/gpu) on b"],
            id="the node with the most healthy devices is named",
        ),
        pytest.param(
            [dgx("a", 7), dgx("b", 8, taints=["team=x:NoSchedule"])],
            "a has 8 nvidia.com/gpu, but only 7 are allocatable: 1 is unhealthy; b is tainted team=x:NoSchedule",
            ["repair or reset the unhealthy device (nvidia.com/gpu) on a"],
            id="beside a reserved node",
        ),
        pytest.param(
            [make_node("a", offers={GPU: "4"}), make_node("b")],
            "no node has 8 nvidia.com/gpu, the largest offers 4",
            [],
            id="all healthy",
        ),
    ],
)
def test_unhealthy_devices(nodes: list[Node], cause: str, cures: list[str]) -> None:
    decision = decide(make_pod(containers=[limited(**{GPU: "8"})]), make_cluster(nodes))
    assert diagnose(decision)[0].cause == cause
    ranked = [one.summary for one in suggest(decision).ranked]
    assert [summary for summary in ranked if summary.startswith("repair")] == cures == ranked[: len(cures)]


def test_the_template_shows_that_only_a_limit_is_set() -> None:
    template = {"spec": {"containers": [limited(memory="12Gi")]}}
    owner = make_object(ReplicaSet, "web-1", namespace="default", spec={"template": template})
    pod = make_pod(owner=("apps/v1", "ReplicaSet", "web-1"), containers=[limited(memory="12Gi")])
    (found,) = diagnose(decide(pod, make_cluster(NODES, [], owner)))
    assert found.cause == (
        "container c asks for 12Gi memory (only a limit is set, and the API server takes it as the request), "
        "the largest node has 8Gi"
    )


def test_the_same_request_is_in_the_template() -> None:
    resources = {"requests": {"memory": "12Gi"}, "limits": {"memory": "12Gi"}}
    container = {"name": "c", "image": "i", "resources": resources}
    owner = make_object(
        ReplicaSet, "web-1", namespace="default", spec={"template": {"spec": {"containers": [container]}}}
    )
    pod = make_pod(owner=("apps/v1", "ReplicaSet", "web-1"), containers=[container])
    (found,) = diagnose(decide(pod, make_cluster(NODES, [], owner)))
    assert (found.cause, found.remedies) == ("no node has 12Gi memory, the largest offers 8Gi", ())


@pytest.mark.parametrize(
    ("other", "cause", "evidence"),
    [
        pytest.param(
            make_node("big", cpu="16", taints=["gpu=yes:NoSchedule"]),
            "the containers ask for 8 cpu together (container x 4 and container y 4), the largest node has 4; "
            "big is tainted gpu=yes:NoSchedule",
            (),
            id="a reserved node is large enough",
        ),
        pytest.param(
            make_node("big", cpu="16", labels={"kubernetes.io/os": "windows"}),
            "the containers ask for 8 cpu together (container x 4 and container y 4), the largest node with "
            "kubernetes.io/os=linux has 4",
            ("1 node has 8 cpu, but the pod's node selection excludes it",),
            id="an excluded node is large enough",
        ),
    ],
)
def test_larger_nodes_of_others(other: Any, cause: str, evidence: tuple[str, ...]) -> None:
    nodes = [make_node("a", labels={"kubernetes.io/os": "linux"}), make_node("b", labels={"kubernetes.io/os": "linux"})]
    selector = {} if other.spec.taints else {"kubernetes.io/os": "linux"}
    containers = [make_container(n, requests={"cpu": "4"}) for n in "xy"]
    decision = decide(make_pod(containers=containers, nodeSelector=selector), make_cluster([*nodes, other]))
    (found,) = diagnose(decision)
    assert (found.cause, found.evidence) == (cause, evidence)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_node("big", cpu="16", unschedulable=True), id="cordoned"),
        pytest.param(
            make_node("big", cpu="16", taints=["node.kubernetes.io/unreachable:NoSchedule"]), id="unreachable"
        ),
    ],
)
def test_a_large_node_is_only_out_of_service(other: Any) -> None:
    (found,) = diagnose(decide(make_pod(requests={"cpu": "8"}), make_cluster([*NODES, other])))
    assert found.cause.startswith("big is")


@pytest.mark.parametrize(
    ("nodes", "cause", "where"),
    [
        pytest.param(
            [make_node("a", offers={"hugepages-2Mi": "0"}, capacity={"hugepages-2Mi": "0"}), make_node("b")],
            "no node offers hugepages-2Mi",
            "a",
            id="a node knows them",
        ),
        pytest.param(
            [make_node("a", offers={"hugepages-1Gi": "4Gi"}), make_node("b", cpu="0")],
            "no node offers hugepages-2Mi; a offers hugepages-1Gi instead",
            "a",
            id="pages of another size",
        ),
    ],
)
def test_huge_pages_that_no_node_offers(nodes: list[Node], cause: str, where: str) -> None:
    decision = decide(make_pod(requests={"hugepages-2Mi": "1Gi", "memory": "1Gi", "cpu": "1"}), make_cluster(nodes))
    (found,) = diagnose(decision)
    assert found.cause == cause
    assert cures(decision) == [
        f"reserve 1Gi of hugepages-2Mi on {where}, if its kernel has not, and restart its kubelet (untried)"
    ]
