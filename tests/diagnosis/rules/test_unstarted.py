"""Pods that are bound to a node and do not start."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.bound_pods import binding
from kschedctl.diagnosis.diagnose import diagnose
from tests.builders import decide, make_cluster, make_node, make_pod

NODES = [
    make_node("worker-1"),
    make_node("worker-2"),
    make_node("sick", taints=["node.kubernetes.io/not-ready:NoExecute"]),
]


def waiting(reason: str, statuses: str = "containerStatuses") -> dict[str, Any]:
    return {"phase": "Pending", statuses: [{"name": "app", "state": {"waiting": {"reason": reason}}}]}


@pytest.mark.parametrize(
    ("node", "status", "relation", "causes"),
    [
        pytest.param("worker-1", {"phase": "Running"}, "runs on worker-1", [], id="it runs"),
        pytest.param(
            "worker-1",
            waiting("ImagePullBackOff"),
            "is bound to worker-1, but has not started",
            ["scheduling is done; container app waits: ImagePullBackOff"],
            id="image",
        ),
        pytest.param(
            "worker-1",
            waiting("CrashLoopBackOff", "initContainerStatuses"),
            "is bound to worker-1, but has not started",
            ["scheduling is done; container app waits: CrashLoopBackOff"],
            id="init container",
        ),
        pytest.param(
            "worker-1",
            waiting("ContainerCreating"),
            "is bound to worker-1, but has not started",
            [],
            id="no reason in its status",
        ),
        pytest.param(
            "sick",
            {"phase": "Pending"},
            "is bound to sick, but has not started",
            ["its node sick is not ready: taint node.kubernetes.io/not-ready"],
            id="unhealthy node",
        ),
        pytest.param(
            "worker-02",
            {"phase": "Pending"},
            "is bound to worker-02, which does not exist",
            ["nodeName worker-02 is no node of the cluster (did you mean worker-2?)"],
            id="mistyped nodeName",
        ),
        pytest.param("gone", {"phase": "Running"}, "is bound to gone, which does not exist", [], id="lost node"),
    ],
)
def test_bound_pods(node: str, status: dict[str, Any], relation: str, causes: list[str]) -> None:
    cluster = make_cluster(NODES, [make_pod("p", node=node, status=status)])
    pod = cluster.pods.pod(0)
    assert binding(cluster, pod, node) == relation
    assert [one.cause for one in diagnose(decide(make_pod("p", status=status), cluster), node)] == causes


def test_the_causes_for_which_a_bound_pod_fits_nowhere_come_first() -> None:
    status = waiting("ImagePullBackOff")
    decision = decide(make_pod(requests={"cpu": "9"}, status=status), make_cluster(NODES[:2]))
    assert [one.rule for one in diagnose(decision, "worker-1")] == ["oversized-request", "unstarted-pod"]


def test_in_a_snapshot_that_seems_to_lack_nodes_pods_run() -> None:
    cluster = make_cluster(NODES[:1], [make_pod(f"p{n}", node=f"n{n}", status={"phase": "Running"}) for n in range(3)])
    assert binding(cluster, cluster.pods.pod(0), "n0") == "runs on n0"
