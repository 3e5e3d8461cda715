"""Taints that reserve every node of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.diagnosis.rules.cures import cures

CONTROL_PLANE = "node-role.kubernetes.io/control-plane:NoSchedule"
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule"
JOIN = "join a worker node: the cluster has only the control plane (untried)"


@pytest.mark.parametrize(
    ("spec", "nodes", "first"),
    [
        pytest.param(
            {},
            [make_node("a", taints=[CONTROL_PLANE])],
            [f"remove the taint {CONTROL_PLANE} from a, if no worker is to join: it is the only node", JOIN],
            id="a control plane that is the only node",
        ),
        pytest.param(
            {},
            [make_node("a", taints=[CONTROL_PLANE]), make_node("b", taints=[CONTROL_PLANE])],
            [JOIN],
            id="a control plane of several nodes",
        ),
        pytest.param(
            {},
            [make_node("a", taints=["CriticalAddonsOnly=true:NoSchedule"])],
            ["add a node pool for applications, without the taint CriticalAddonsOnly (on AKS of mode User) (untried)"],
            id="only the system pool",
        ),
        pytest.param(
            {},
            [make_node("a", taints=["dedicated=ml:NoSchedule"])],
            ["add a node without the taint dedicated (untried)", "tolerate dedicated=ml:NoSchedule"],
            id="only nodes of another team",
        ),
        pytest.param(
            {},
            [make_node("a", taints=["kubernetes.io/arch=arm64:NoSchedule"])],
            [
                "tolerate kubernetes.io/arch=arm64:NoSchedule",
                "add a node without the taint kubernetes.io/arch (untried)",
            ],
            id="only nodes of another architecture",
        ),
    ],
)
def test_cures(spec: dict[str, Any], nodes: list[Node], first: list[str]) -> None:
    decision = decide(make_pod(**spec), make_cluster(nodes))
    assert diagnose(decision)[0].rule == "reserved-nodes"
    assert cures(decision) == first


def test_a_pool_that_the_pod_does_not_select_comes_after_new_nodes() -> None:
    """A spot pool stands idle, and the other nodes are full."""
    spot = make_node("spot", taints=["spot=true:NoSchedule"])
    cluster = make_cluster([make_node("a"), spot], [make_pod("x", node="a", requests={"cpu": "4"}, priority=10)])
    found = cures(decide(make_pod(requests={"cpu": "1"}), cluster))
    assert found[:1] == ["add a node like a"]
    assert any(one.startswith("tolerate spot=true") for one in found)


def test_the_platform_of_a_pod_is_never_dropped() -> None:
    """A pod for Windows does not run on Linux, whatever its nodeSelector is."""
    system = "kubernetes.io/os"
    nodes = [
        make_node("a", labels={system: "linux"}),
        make_node("b", labels={system: "windows"}, taints=["os=windows:NoSchedule"]),
    ]
    assert cures(decide(make_pod(nodeSelector={system: "windows"}), make_cluster(nodes))) == [
        "tolerate os=windows:NoSchedule"
    ]


def test_a_new_node_would_have_the_same_problem() -> None:
    """No node is proposed as long as nobody initializes nodes, and none of the control plane."""
    spec: dict[str, Any] = {"tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]}
    cluster = make_cluster(
        [make_node("a", taints=[CONTROL_PLANE, UNINITIALIZED]), make_node("b", taints=[UNINITIALIZED])]
    )
    assert not any(one.startswith("add") for one in cures(decide(make_pod(**spec), cluster)))


def test_a_control_plane_without_a_network_plugin() -> None:
    """The network plugin of a new cluster comes first; the pod does not tolerate the control plane all the same."""
    message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"
    conditions = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": message}]
    node = make_node("a", taints=[CONTROL_PLANE, "node.kubernetes.io/not-ready:NoSchedule"], conditions=conditions)
    decision = decide(make_pod(), make_cluster([node]))
    (found,) = diagnose(decision)
    assert found.cause.endswith(f"a has the taint {CONTROL_PLANE} as well, which the pod does not tolerate")
    assert cures(decision) == ["install or repair the network plugin (CNI) on a (untried)", JOIN]


def test_a_pool_without_nodes() -> None:
    """The pool that the pod selects has been scaled to 0."""
    decision = decide(
        make_pod(nodeSelector={"pool": "highmem"}), make_cluster([make_node("a", labels={"pool": "web"})])
    )
    assert cures(decision)[0] == "add a node with pool=highmem, or scale its pool up if it has 0 nodes (untried)"
