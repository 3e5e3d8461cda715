"""Unhealthy nodes that would hold the pod: their problem is the cause, and their repair the first cure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from tests.builders import decide, make_cluster, make_node, make_pod

UNREACHABLE = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]
NOT_READY = ["node.kubernetes.io/not-ready:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"]
NO_NETWORK = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"


def ready(status: str, reason: str, message: str = "") -> list[dict[str, Any]]:
    return [{"type": "Ready", "status": status, "reason": reason, "message": message}]


def taint(key: str) -> list[str]:
    return [f"{key}:NoSchedule"]


def removed_since(hour: int, minute: int) -> list[str]:
    """Return the taint that the cluster autoscaler sets before it deletes a node."""
    began = datetime(2026, 11, 20, hour, minute, tzinfo=UTC)
    return [f"ToBeDeletedByClusterAutoscaler={began.timestamp():.0f}:NoSchedule"]


@pytest.mark.parametrize(
    ("sick", "problem", "cure"),
    [
        pytest.param(
            make_node("a", taints=UNREACHABLE, conditions=ready("Unknown", "NodeStatusUnknown")),
            "a is unreachable (NodeStatusUnknown): taint node.kubernetes.io/unreachable",
            "get a back (its kubelet posts no status) or replace it",
            id="unreachable",
        ),
        pytest.param(
            make_node("a", taints=NOT_READY, conditions=ready("False", "KubeletNotReady", NO_NETWORK)),
            "a is not ready (NetworkPluginNotReady): taint node.kubernetes.io/not-ready",
            "install or repair the network plugin (CNI) on a",
            id="no CNI",
        ),
        pytest.param(
            make_node("a", taints=NOT_READY, conditions=ready("False", "KubeletNotReady", "PLEG is not healthy")),
            "a is not ready (KubeletNotReady): taint node.kubernetes.io/not-ready",
            "repair a (its kubelet is not ready) or replace it",
            id="not ready",
        ),
        pytest.param(
            make_node("a", taints=taint("node.kubernetes.io/disk-pressure")),
            "a is under disk pressure: taint node.kubernetes.io/disk-pressure",
            "free disk space on a (images, logs, emptyDir volumes)",
            id="disk pressure",
        ),
        pytest.param(
            make_node("a", taints=["node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"]),
            "a is not initialized by the cloud provider: taint node.cloudprovider.kubernetes.io/uninitialized",
            "get the cloud controller manager to initialize a",
            id="no cloud controller manager",
        ),
        pytest.param(
            make_node("a", taints=removed_since(9, 0)),
            "a is being removed by the cluster autoscaler since 2026-11-20 09:00 UTC: taint "
            "ToBeDeletedByClusterAutoscaler",
            "find out why the cluster autoscaler has not removed a, and remove its taint "
            "ToBeDeletedByClusterAutoscaler",
            id="the autoscaler did not remove it",
        ),
    ],
)
def test_problem_and_repair(sick: Node, problem: str, cure: str) -> None:
    full = make_pod("x", node="b", requests={"cpu": "4"}, status={"startTime": "2026-11-20T11:00:00Z"})
    decision = decide(make_pod(requests={"cpu": "1"}), make_cluster([sick, make_node("b")], [full]))
    (found,) = diagnose(decision)
    assert found.rule == "unhealthy-node"
    assert found.cause == f"{problem}; b has 0 of 4 cpu free, the pod wants 1 cpu"
    assert "kubectl describe node a" in found.checks
    first = suggest(decision).ranked[0]
    assert first.summary == cure


@pytest.mark.parametrize(
    "sick",
    [
        pytest.param(make_node("a", cpu="0", taints=UNREACHABLE), id="it has no room either"),
        pytest.param(make_node("a", unschedulable=True, taints=UNREACHABLE), id="it is cordoned as well"),
        pytest.param(make_node("a", taints=[*UNREACHABLE, "gpu=yes:NoSchedule"]), id="it is reserved for others"),
        pytest.param(make_node("a", taints=taint("ToBeDeletedByClusterAutoscaler")), id="an autoscaler removes it"),
        pytest.param(make_node("a", taints=removed_since(10, 30)), id="an autoscaler removes it since half an hour"),
        pytest.param(make_node("a", taints=[*removed_since(9, 0), *UNREACHABLE]), id="and it is unreachable"),
        pytest.param(make_node("a", taints=taint("karpenter.sh/disrupted")), id="Karpenter removes it"),
    ],
)
def test_no_repair_helps(sick: Node) -> None:
    full = make_pod("x", node="b", requests={"cpu": "4"}, status={"startTime": "2026-11-20T11:00:00Z"})
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}), make_cluster([sick, make_node("b")], [full])))
    assert found.rule == "obstacles"
    assert found.remedies == ()


def test_all_nodes_without_a_network_plugin() -> None:
    nodes = [make_node(n, taints=NOT_READY, conditions=ready("False", "KubeletNotReady", NO_NETWORK)) for n in "abcd"]
    decision = decide(make_pod(), make_cluster(nodes))
    (found,) = diagnose(decision)
    said = "a, b, c and 1 more are not ready (NetworkPluginNotReady): taint node.kubernetes.io/not-ready"
    assert (found.cause, len(found.remedies)) == (said, 3)
    assert [each.summary for each in suggest(decision).suggestions if "network plugin" in each.summary] == [
        "install or repair the network plugin (CNI) on a"
    ]


def test_a_network_plugin_that_is_not_ready() -> None:
    sick = make_node("a", taints=NOT_READY, conditions=ready("False", "KubeletNotReady", NO_NETWORK))
    broken = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    pods = [make_pod("calico-node-x", node="a", status=broken), make_pod("kube-proxy-x", node="a", status=broken)]
    (found,) = diagnose(decide(make_pod(), make_cluster([sick], pods)))
    assert found.evidence[0] == "Pod default/calico-node-x, the network plugin, is not ready on a"
    assert found.remedies[0].summary == "repair Pod default/calico-node-x, the network plugin (CNI), on a"
