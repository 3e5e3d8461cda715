"""Taints that reserve every node of the cluster."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet, Deployment
from tests.builders import decide, make_cluster, make_node, make_object, make_pod
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


def tolerating(key: str, value: str = "", effect: str = "NoSchedule", operator: str = "Equal") -> dict[str, Any]:
    return {"tolerations": [{"key": key, "value": value, "effect": effect, "operator": operator}]}


@pytest.mark.parametrize(
    ("spec", "taints", "cause", "cure"),
    [
        pytest.param(
            tolerating("dedicated", "analytcs"),
            ["dedicated=analytics:NoSchedule"],
            "the pod tolerates dedicated=analytcs:NoSchedule, and the taint of a is dedicated=analytics:NoSchedule",
            "tolerate dedicated=analytics:NoSchedule instead of dedicated=analytcs:NoSchedule",
            id="value",
        ),
        pytest.param(
            tolerating("dedicatd", "ml"),
            ["dedicated=ml:NoSchedule"],
            "the pod tolerates dedicatd=ml:NoSchedule, and the taint of a is dedicated=ml:NoSchedule",
            "tolerate dedicated=ml:NoSchedule instead of dedicatd=ml:NoSchedule",
            id="key",
        ),
        pytest.param(
            tolerating("spot", "yes"),
            ["spot=true:NoSchedule"],
            "the pod tolerates spot=yes:NoSchedule, and the taint of a is spot=true:NoSchedule",
            "tolerate spot=true:NoSchedule instead of spot=yes:NoSchedule",
            id="another word for yes",
        ),
        pytest.param(
            tolerating("dedicated", ""),
            ["dedicated=gpu:NoSchedule"],
            "the pod tolerates dedicated:NoSchedule, and the taint of a is dedicated=gpu:NoSchedule",
            "tolerate dedicated=gpu:NoSchedule instead of dedicated:NoSchedule",
            id="no value",
        ),
        pytest.param(
            tolerating("node-role.kubernetes.io/master", operator="Exists"),
            ["node-role.kubernetes.io/control-plane:NoSchedule"],
            "the pod tolerates node-role.kubernetes.io/master:NoSchedule, "
            "and the taint of a is node-role.kubernetes.io/control-plane:NoSchedule",
            "tolerate node-role.kubernetes.io/control-plane:NoSchedule instead of "
            "node-role.kubernetes.io/master:NoSchedule",
            id="the old name of the control plane",
        ),
        pytest.param(
            tolerating("spot", "true"),
            ["spot=true:NoExecute"],
            "the pod tolerates spot=true:NoSchedule, and the taint of a is spot=true:NoExecute",
            "tolerate spot=true:NoExecute instead of spot=true:NoSchedule",
            id="effect",
        ),
        pytest.param(
            tolerating("spot", "true"),
            ["spot=true:NoSchedule", "spot=true:NoExecute"],
            "the pod tolerates spot=true:NoSchedule, and the taint of a is spot=true:NoExecute",
            "tolerate every effect of spot, not only NoSchedule",
            id="one of two effects",
        ),
    ],
)
def test_cause_and_cure(spec: dict[str, Any], taints: list[str], cause: str, cure: str) -> None:
    full = make_pod("x", node="b", requests={"cpu": "4"})
    decision = decide(
        make_pod(requests={"cpu": "1"}, **spec), make_cluster([make_node("a", taints=taints), make_node("b")], [full])
    )
    (found,) = diagnose(decision)
    assert found.cause == f"{cause}; b has 0 of 4 cpu free, the pod wants 1 cpu"
    assert suggest(decision).ranked[0].summary == cure


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(tolerating("dedicated", "team-b"), id="another team"),
        pytest.param(tolerating("nvidia.com/gpu", "present"), id="another key"),
        pytest.param({}, id="no toleration"),
    ],
)
def test_the_node_is_reserved_for_others(spec: dict[str, Any]) -> None:
    node = make_node("a", taints=["dedicated=team-a:NoSchedule"])
    (found,) = diagnose(decide(make_pod(**spec), make_cluster([node])))
    assert found.rule == "reserved-nodes"


def test_the_node_is_full_as_well() -> None:
    node = make_node("a", cpu="0", taints=["spot=true:NoSchedule"])
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}, **tolerating("spot", "yes")), make_cluster([node])))
    assert found.rule != "mistyped-toleration"


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
            make_node("a", taints=taint("gpu.acme.com/unhealthy")),
            "a is marked as broken: taint gpu.acme.com/unhealthy",
            "repair a, or replace it: what set the taint gpu.acme.com/unhealthy takes it off again",
            id="an agent found it broken",
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


def test_the_condition_of_a_node_that_is_marked_as_broken() -> None:
    xid = {"type": "GpuXid", "status": "True", "reason": "XidError79", "message": "GPU has fallen off the bus"}
    sick = make_node("a", taints=taint("gpu.acme.com/unhealthy"), conditions=[xid])
    found = decide(make_pod(requests={"cpu": "1"}), make_cluster([sick]))
    assert diagnose(found)[0].evidence[0] == "a: GpuXid (XidError79): GPU has fallen off the bus"
    assert not [each for each in cures(found) if each.startswith("tolerate")]


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


EFS = "efs.csi.aws.com/agent-not-ready"
CNI = "cni.istio.io/not-ready"
CILIUM = "node.cilium.io/agent-not-ready"
SINCE = " since 2026-11-20 09:12 UTC"
DRIVER = ("apps/v1", "DaemonSet", "efs-csi-node")
LEFT = "it was left behind, as the pod runs"
FULL = make_node("full", cpu="1")
REST = "; full has 1 cpu in all, the pod wants 2 cpu"


def agent(name: str, owner: str, *, ready: bool = True, node: str = "new") -> Pod:
    conditions = [] if ready else [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T09:12:00Z"}]
    status = {"phase": "Running", "conditions": conditions}
    return make_pod(name, namespace="kube-system", node=node, owner=("apps/v1", "DaemonSet", owner), status=status)


@pytest.mark.parametrize(
    ("taint", "pods", "objects", "cause", "cure"),
    [
        pytest.param(
            EFS,
            [agent("efs-csi-node-x", "efs-csi-node"), agent("ebs-csi-node-x", "ebs-csi-node", ready=False)],
            [],
            f"new is not set up: taint {EFS}, although its pod kube-system/efs-csi-node-x runs",
            f"restart pod kube-system/efs-csi-node-x on new, or take the taint {EFS} off: {LEFT}",
            id="the driver runs",
        ),
        pytest.param(
            EFS,
            [agent("efs-csi-node-x", "efs-csi-node", ready=False)],
            [],
            f"new is not set up: taint {EFS}, whose pod kube-system/efs-csi-node-x is not ready{SINCE}",
            "repair pod kube-system/efs-csi-node-x on new: look at its log and its events",
            id="the driver is not ready",
        ),
        pytest.param(
            EFS,
            [],
            [make_object(DaemonSet, "efs-csi-node", namespace="kube-system")],
            f"new is not set up: taint {EFS}, and DaemonSet kube-system/efs-csi-node has no pod there, as it does not "
            f"tolerate the taint {EFS}:NoExecute",
            "get DaemonSet kube-system/efs-csi-node to run on new",
            id="the driver does not tolerate the taint",
        ),
        pytest.param(
            CNI,
            [agent("istio-cni-node-x", "istio-cni-node"), agent("kube-proxy-x", "kube-proxy")],
            [],
            f"new is not set up: taint {CNI}, although its pod kube-system/istio-cni-node-x runs",
            f"restart pod kube-system/istio-cni-node-x on new, or take the taint {CNI} off: {LEFT}",
            id="a network plugin",
        ),
        pytest.param(
            CILIUM,
            [agent("cilium-x", "cilium", ready=False), agent("cilium-envoy-x", "cilium-envoy")],
            [],
            f"new is not set up: taint {CILIUM}, whose pod kube-system/cilium-x is not ready{SINCE}",
            "repair pod kube-system/cilium-x on new: look at its log and its events",
            id="Cilium",
        ),
        pytest.param(
            "startup-taint.cluster-autoscaler.kubernetes.io/gpu-driver",
            [agent("web-x", "web")],
            [],
            "new is not set up: taint startup-taint.cluster-autoscaler.kubernetes.io/gpu-driver",
            "find out what is to take the taint startup-taint.cluster-autoscaler.kubernetes.io/gpu-driver off new, and "
            "repair it",
            id="nobody known",
        ),
    ],
)
def test_a_node_whose_agent_has_not_set_it_up(
    taint: str, pods: list[Pod], objects: list[ApiObject], cause: str, cure: str
) -> None:
    cluster = make_cluster([FULL, make_node("new", taints=[f"{taint}:NoExecute"])], pods, *objects)
    decision = decide(make_pod(requests={"cpu": "2"}), cluster)
    assert [one.cause for one in diagnose(decision)] == [cause + REST]
    assert cures(decision)[0] == cure
    assert not any("tolerate " in one for one in cures(decision))


def test_a_pool_for_others_is_not_one_that_is_not_set_up() -> None:
    decision = decide(make_pod(), make_cluster([make_node("a", taints=["dedicated=startup:NoSchedule"])]))
    assert diagnose(decision)[0].rule == "reserved-nodes"


@pytest.mark.parametrize(("minutes", "cure"), [(1, "wait until pod"), (9, "restart pod")])
def test_an_agent_that_has_just_started(minutes: int, cure: str) -> None:
    taken = datetime(2026, 11, 20, 10, tzinfo=UTC)
    status = {"phase": "Running", "startTime": (taken - timedelta(minutes=minutes)).isoformat()}
    pod = make_pod("efs-csi-node-x", node="new", namespace="kube-system", owner=DRIVER, status=status)
    cluster = make_cluster([FULL, make_node("new", taints=[f"{EFS}:NoExecute"])], [pod])
    cluster.taken_at = taken
    first = cures(decide(make_pod(requests={"cpu": "2"}), cluster))[0]
    assert first.startswith(f"{cure} kube-system/efs-csi-node-x")


FARGATE = "eks.amazonaws.com/compute-type=fargate:NoSchedule"
VIRTUAL = "virtual-kubelet.io/provider=azure:NoSchedule"
OS = "kubernetes.io/os"
NO_PROFILE = (
    f"f has the taint {FARGATE}, which the pod does not tolerate; nodes of Fargate are made for one pod each, and no "
    "Fargate profile has taken this pod (schedulerName default-scheduler)"
)
GROUP = "add a node of a node group, if the pod is not for Fargate (untried)"


def annotated(value: str) -> Deployment:
    metadata = {"annotations": {"eks.amazonaws.com/compute-type": value}} if value else {}
    spec = {"template": {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}}}
    return make_object(Deployment, "dns", namespace="default", spec=spec)


@pytest.mark.parametrize(
    ("spec", "nodes", "objects", "cause", "expected"),
    [
        pytest.param(
            {"labels": {"app": "web"}},
            [make_node("f", taints=[FARGATE])],
            [],
            NO_PROFILE,
            [
                "if the pod is for Fargate: let the selector of a Fargate profile match namespace default and the "
                "labels app=web, and recreate the pod: it then has schedulerName fargate-scheduler (untried)",
                GROUP,
            ],
            id="only nodes of Fargate",
        ),
        pytest.param(
            {"owner": ("apps/v1", "Deployment", "dns")},
            [make_node("f", taints=[FARGATE])],
            [annotated("ec2")],
            NO_PROFILE,
            [
                "remove annotation eks.amazonaws.com/compute-type=ec2 from the template of Deployment default/dns, so "
                "that a Fargate profile takes its pods (untried)",
                GROUP,
            ],
            id="an annotation keeps the pod from Fargate",
        ),
        pytest.param(
            {},
            [make_node("v", taints=[VIRTUAL])],
            [],
            f"v has the taint {VIRTUAL}, which the pod does not tolerate; virtual nodes run only pods that are made "
            "for them",
            ["add a node with a machine: the cluster has only virtual nodes for the pod (untried)"],
            id="only virtual nodes",
        ),
        pytest.param(
            {},
            [make_node("w", labels={OS: "windows"}, taints=["node.kubernetes.io/os=windows:NoSchedule"])],
            [],
            "w has the taint node.kubernetes.io/os=windows:NoSchedule, which the pod does not tolerate; all nodes have "
            "Windows, and the pod does not select them",
            ["add a Linux node: programs of Linux do not run on the Windows nodes (untried)"],
            id="only Windows nodes",
        ),
        pytest.param(
            {"requests": {"cpu": "2"}},
            [FULL, make_node("v", taints=[VIRTUAL]), make_node("f", taints=[FARGATE])],
            [],
            f"full has 1 cpu in all, the pod wants 2 cpu; v is tainted {VIRTUAL}; f is tainted {FARGATE}",
            ["add a larger node than full: with 2 cpu free"],
            id="besides full nodes",
        ),
        pytest.param(
            {"requests": {"cpu": "2"}},
            [FULL, make_node("w", labels={OS: "windows"}, taints=["os=windows:NoSchedule"])],
            [],
            "full has 1 cpu in all, the pod wants 2 cpu; w is tainted os=windows:NoSchedule",
            ["add a larger node than full: with 2 cpu free"],
            id="Windows nodes besides full nodes",
        ),
    ],
)
def test_nodes_that_are_not_for_the_pod(
    spec: dict[str, Any], nodes: list[Node], objects: list[ApiObject], cause: str, expected: list[str]
) -> None:
    decision = decide(make_pod(**spec), make_cluster(nodes, [], *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision)[: len(expected)] == expected
    assert not any("tolerate " in one or "remove taint" in one for one in cures(decision))


def test_a_pod_that_selects_virtual_nodes_may_tolerate_their_taint() -> None:
    node = make_node("v", labels={"type": "virtual-kubelet"}, taints=[VIRTUAL])
    decision = decide(make_pod(nodeSelector={"type": "virtual-kubelet"}), make_cluster([make_node("a"), node]))
    assert cures(decision)[0] == "tolerate virtual-kubelet.io/provider=azure:NoSchedule"
