"""Obstacles on the nodes within reach."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.api.core import Node
from kschedctl.api.pod import Pod
from kschedctl.diagnosis.diagnose import diagnose
from tests.builders import GPU, decide, make_cluster, make_node, make_pod

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
