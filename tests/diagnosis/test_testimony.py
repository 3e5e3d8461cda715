"""Words and deeds of other components are part of the first cause, and cures that they would undo are not proposed."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.coordination import ConfigMap
from kschedctl.objects.core import Namespace
from kschedctl.objects.custom_resources import OpenShiftScheduler, ResourceFlavor, VerticalPodAutoscaler
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import LimitRange
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.cycle.decision import Decision
from tests.builders import decide, make_cluster, make_container, make_event, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures

OWNER = ("apps/v1", "StatefulSet", "db")


def workload(requests: dict[str, Any] | None = None, **spec: Any) -> StatefulSet:
    containers = [make_container("app", requests=requests)]
    template = {"spec": {"containers": containers, **spec}}
    return make_object(StatefulSet, "db", namespace="default", spec={"template": template})


def autoscaler(mode: str = "Recreate", target: str = "db", **limits: str) -> VerticalPodAutoscaler:
    policies = [{"containerName": "app", "maxAllowed": limits}] if limits else []
    spec = {
        "targetRef": {"kind": "StatefulSet", "name": target},
        "updatePolicy": {"updateMode": mode},
        "resourcePolicy": {"containerPolicies": policies},
    }
    return make_object(VerticalPodAutoscaler, "db", namespace="default", spec=spec)


def pod(requests: dict[str, Any] | None = None, *, injected: str = "", **spec: Any) -> Pod:
    containers = [make_container("app", requests=requests)]
    if injected:
        containers.append(make_container("proxy", requests={"cpu": injected}))
    return make_pod("db-0", owner=OWNER, containers=containers, **spec)


def decision(of: Pod, *objects: ApiObject, nodes: int = 1, **node: Any) -> Decision:
    rows = [make_node(f"n{number}", cpu="4", **node) for number in range(nodes)]
    return decide(of, make_cluster(rows, [of], *objects))


LIMITS = make_object(
    LimitRange,
    "defaults",
    namespace="default",
    spec={"limits": [{"type": "Container", "defaultRequest": {"cpu": "5"}}]},
)


@pytest.mark.parametrize(
    ("of", "objects", "clause", "cure"),
    [
        pytest.param(
            pod({"cpu": "5"}),
            [workload({"cpu": "1"}), autoscaler()],
            "container app asks for 5 cpu instead of the template's 1: VerticalPodAutoscaler default/db sets it "
            "(maxAllowed is not set)",
            "set maxAllowed of VerticalPodAutoscaler default/db to 4 cpu or less, then delete the pod, so that it is "
            "made anew (untried)",
            id="an autoscaler without a maximum",
        ),
        pytest.param(
            pod({"cpu": "5"}),
            [workload({"cpu": "1"}), autoscaler(cpu="6")],
            "container app asks for 5 cpu instead of the template's 1: VerticalPodAutoscaler default/db sets it",
            "set maxAllowed of VerticalPodAutoscaler default/db to 4 cpu or less, then delete the pod, so that it is "
            "made anew (untried)",
            id="its maximum is too large",
        ),
        pytest.param(
            pod({"cpu": "5"}),
            [workload({"cpu": "1"}), autoscaler("Off"), autoscaler(target="other")],
            "container app asks for 5 cpu instead of the template's 1 (admission set it, or the template has changed "
            "since)",
            "find what sets 5 cpu instead of the template's 1 in pods of StatefulSet default/db (untried)",
            id="an autoscaler that only recommends",
        ),
        pytest.param(
            pod({"cpu": "5"}),
            [workload(), LIMITS],
            "container app asks for 5 cpu instead of the template's no request: LimitRange default/defaults sets it",
            "set a request of its own for cpu in container app of StatefulSet default/db, so that the default of "
            "LimitRange default/defaults does not apply (untried)",
            id="the default of a LimitRange",
        ),
        pytest.param(
            pod({"cpu": "3"}, injected="2"),
            [workload({"cpu": "3"})],
            "container proxy was injected at admission and asks for 2 cpu beside the template of StatefulSet "
            "default/db",
            "lower the cpu request of the injected container proxy by the configuration of what injects it (untried)",
            id="an injected container",
        ),
        pytest.param(pod({"cpu": "5"}), [workload({"cpu": "5"}), autoscaler()], "", "", id="as in the template"),
        pytest.param(pod({"cpu": "9"}), [workload({"cpu": "8"})], "", "", id="too large in the template as well"),
        pytest.param(pod({"cpu": "5"}), [], "", "", id="the template is not known"),
    ],
)
def test_where_a_request_comes_from(of: Pod, objects: list[ApiObject], clause: str, cure: str) -> None:
    found = decision(of, *objects)
    cause = diagnose(found)[0].cause
    assert cause.partition("; ")[2] == clause
    assert not cure or cure in cures(found)
    if "VerticalPodAutoscaler" in clause:
        assert not [each for each in cures(found) if each.startswith("request ")]


def namespace(annotation: str = "", value: str = "") -> Namespace:
    annotations = {annotation: value} if annotation else {}
    return make_object(Namespace, "default", metadata={"name": "default", "annotations": annotations})


PROJECT = "openshift.io/node-selector"
PLUGIN = "scheduler.alpha.kubernetes.io/node-selector"
DEFAULT = make_object(OpenShiftScheduler, "cluster", spec={"defaultNodeSelector": "role=worker"})


@pytest.mark.parametrize(
    ("objects", "clause", "cure"),
    [
        pytest.param(
            [namespace(), DEFAULT],
            "the defaultNodeSelector of the cluster (Scheduler cluster) adds it, as namespace default has no "
            "annotation openshift.io/node-selector",
            'give namespace default the annotation openshift.io/node-selector: "", so that its pods get no default '
            "node selector; then delete the pod, so that it is made anew",
            id="the default of OpenShift",
        ),
        pytest.param(
            [make_object(ResourceFlavor, "spot", spec={"nodeLabels": {"role": "worker"}})],
            "ResourceFlavor spot of Kueue adds it (nodeLabels)",
            "correct role=worker in the nodeLabels of ResourceFlavor spot; then delete the pod, so that it is made "
            "anew",
            id="a flavor of Kueue",
        ),
        pytest.param(
            [namespace(PROJECT, "role=worker"), DEFAULT],
            "the annotation openshift.io/node-selector of namespace default adds it",
            "take role=worker out of the annotation openshift.io/node-selector of namespace default; then delete the "
            "pod, so that it is made anew",
            id="the project",
        ),
        pytest.param(
            [namespace(PLUGIN, "env=prod, role=worker")],
            f"the annotation {PLUGIN} of namespace default adds it",
            f"take role=worker out of the annotation {PLUGIN} of namespace default; then delete the pod, so that it is "
            "made anew",
            id="PodNodeSelector",
        ),
    ],
)
def test_where_a_selector_comes_from(objects: list[ApiObject], clause: str, cure: str) -> None:
    """The cure is at the object that adds the selector, as the selector of the next pod would have it again."""
    of = pod(nodeSelector={"role": "worker"})
    found = decision(of, workload(), *objects)
    assert diagnose(found)[0].cause.endswith(f"role=worker is not in the template of StatefulSet default/db: {clause}")
    assert cures(found)[0] == cure
    assert not [each for each in cures(found) if each.startswith("drop")]


def test_a_selector_of_unknown_origin() -> None:
    """An earlier template may have had it: its removal is proposed as for any other pod."""
    found = decision(pod(nodeSelector={"role": "worker"}), workload(), namespace())
    assert diagnose(found)[0].cause.endswith(
        "role=worker is not in the template of StatefulSet default/db: admission added it, or the template has changed "
        "since"
    )
    assert "drop role=worker of nodeSelector" in cures(found)


def test_a_selector_of_the_template_is_its_own() -> None:
    found = decision(pod(nodeSelector={"role": "worker"}), workload(nodeSelector={"role": "worker"}))
    assert "template" not in diagnose(found)[0].cause


RESIZED = {
    "phase": "Running",
    "conditions": [
        {
            "type": "PodResizePending",
            "status": "True",
            "reason": "Deferred",
            "message": "Node didn't have enough resource: cpu",
            "lastTransitionTime": "2026-11-20T08:12:00Z",
        }
    ],
    "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}],
}


def resized(status: dict[str, Any]) -> Cluster:
    grown = make_pod("grown", node="n0", requests={"cpu": "3"}, status=status)
    return make_cluster([make_node("n0", cpu="4")], [grown])


def test_a_resize_that_waits_holds_the_room() -> None:
    found = decide(make_pod(requests={"cpu": "2"}), resized(RESIZED))
    first = diagnose(found)[0]
    assert first.cause.endswith(
        "; on n0 default/grown counts 3 cpu for a resize that its kubelet defers since 2026-11-20 08:12 UTC, and has 1"
    )
    assert "default/grown: Node didn't have enough resource: cpu" in first.evidence
    assert cures(found)[0] == "withdraw the resize of default/grown: 2 cpu are free on n0 at once"


def test_resizes_that_hold_the_room_together() -> None:
    grown = [make_pod(f"grown-{n}", node="n0", requests={"cpu": "2"}, status=RESIZED) for n in range(2)]
    found = decide(make_pod(requests={"cpu": "2"}), make_cluster([make_node("n0", cpu="4")], grown))
    cure = "withdraw the resizes of default/grown-0 and default/grown-1: 2 cpu are free on n0 at once"
    assert cures(found)[0] == cure


def test_a_resize_of_an_autoscaler() -> None:
    """The autoscaler would ask for the resize again, so that its maximum comes first."""
    grown = make_pod("db-1", node="n0", requests={"cpu": "3"}, owner=OWNER, status=RESIZED)
    cluster = make_cluster([make_node("n0", cpu="4")], [grown], workload(), autoscaler("InPlaceOrRecreate"))
    assert cures(decide(make_pod(requests={"cpu": "2"}), cluster))[0] == (
        "lower maxAllowed of VerticalPodAutoscaler default/db, then withdraw the resize of default/db-1: 2 cpu are "
        "free on n0 at once"
    )


@pytest.mark.parametrize(
    ("cpu", "status"),
    [("4", RESIZED), ("2", {"phase": "Running"}), ("2", {**RESIZED, "conditions": []})],
    ids=["it frees too little", "no resize", "the resize is done"],
)
def test_resizes_that_do_not_matter(cpu: str, status: dict[str, Any]) -> None:
    assert not [each for each in cures(decide(make_pod(requests={"cpu": cpu}), resized(status))) if "resize" in each]


@pytest.mark.parametrize(
    ("limits", "clause"),
    [
        ({"cpu": "6"}, "Karpenter adds no node: NodePool general is at its limit of 6 cpu (4 used)"),
        ({"cpu": "8"}, "Karpenter would add a node of NodePool general (m7g.xlarge) for it"),
        ({}, "Karpenter would add a node of NodePool general (m7g.xlarge) for it"),
        (
            {"memory": "20Gi", "cpu": "99"},
            "Karpenter adds no node: NodePool general is at its limit of 20Gi memory (16Gi used)",
        ),
    ],
)
def test_a_pool_at_its_limit(limits: dict[str, str], clause: str) -> None:
    labels = {"karpenter.sh/nodepool": "general", "node.kubernetes.io/instance-type": "m7g.xlarge"}
    busy = make_pod("busy", node="n0", requests={"cpu": "4"})
    node = make_node(
        "n0", cpu="4", memory="16Gi", zone="a", labels=labels, capacity={"cpu": "4", "memory": "16Gi", "pods": "110"}
    )
    cluster = make_cluster([node], [busy], make_object(NodePool, "general", spec={"limits": limits}))
    found = decide(make_pod(requests={"cpu": "2"}), cluster)
    assert diagnose(found)[0].cause.partition("; ")[2] == clause
    (first, *_) = [each for each in cures(found) if "add" in each]
    assert first.startswith("raise the limit of NodePool general" if "at its limit" in clause else "wait: Karpenter")


STATUS = """time: 2026-11-20T10:00:00Z
autoscalerStatus: Running
clusterWide: {health: {status: Healthy, nodeCounts: {registered: {total: 1, ready: 1}}}}
nodeGroups:
- name: eks-general-0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f
  health: {status: Healthy, nodeCounts: {registered: {total: 1, ready: 1}}, cloudProviderTarget: 1, maxSize: MOST}
"""


@pytest.mark.parametrize(
    ("most", "clause", "cure"),
    [
        (
            "2",
            "Cluster Autoscaler would add a node of nodegroup general for it",
            "wait: Cluster Autoscaler adds a node of nodegroup general",
        ),
        (
            "1",
            "Cluster Autoscaler adds no node: nodegroup general is at its maximum size of 1 node",
            "raise the maximum size of nodegroup general from 1 to 2; Cluster Autoscaler then adds a node of nodegroup "
            "general",
        ),
    ],
)
def test_node_groups_of_cluster_autoscaler(most: str, clause: str, cure: str) -> None:
    data = {"status": STATUS.replace("MOST", most)}
    status = make_object(ConfigMap, "cluster-autoscaler-status", namespace="kube-system", data=data)
    node = make_node("n0", labels={"eks.amazonaws.com/nodegroup": "general"})
    busy = make_pod("busy", node="n0", requests={"cpu": "4"})
    cluster = make_cluster([node], [busy], status).at(datetime(2026, 11, 20, 10, 1, tzinfo=UTC))
    found = decide(make_pod(requests={"cpu": "2"}), cluster)
    assert diagnose(found)[0].cause.partition("; ")[2] == clause
    assert cures(found)[0] == cure
    assert not [each for each in cures(found) if each.startswith("add a node")]


def test_warnings_of_others_are_evidence() -> None:
    of = make_pod("db-0", owner=OWNER, requests={"cpu": "9"})
    events = [
        make_event("Pod", "db-0", "no instance type fits", "karpenter", reason="FailedScheduling"),
        make_event("Pod", "db-0", "0/1 nodes are available", "default-scheduler", reason="FailedScheduling"),
        make_event("StatefulSet", "db", "quota exceeded", "statefulset-controller", reason="FailedCreate"),
    ]
    assert diagnose(decision(of, *events))[0].evidence[-2:] == (
        "karpenter (FailedScheduling, at 2026-11-20 10:00 UTC): no instance type fits",
        "statefulset-controller (FailedCreate, at 2026-11-20 10:00 UTC): quota exceeded",
    )


WANTS_BLUE = {"key": "pool", "operator": "In", "values": ["blue"]}
BLUE = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [WANTS_BLUE]}]}}


@pytest.mark.parametrize("is_own", [False, True], ids=["admission adds it", "the template has it"])
def test_where_a_node_affinity_comes_from(is_own: bool) -> None:
    affinity: dict[str, Any] = {"affinity": {"nodeAffinity": BLUE}}
    found = decision(pod(**affinity), workload(**(affinity if is_own else {})))
    clause = (
        "; this node affinity is not in the template of StatefulSet default/db: admission added it, or the template "
        "has changed since"
    )
    cure = (
        "find the webhook or policy that adds the node affinity to pods of StatefulSet default/db, and correct it there"
    )
    assert diagnose(found)[0].cause.endswith(clause) is not is_own
    assert (cures(found)[0] == f"{cure} (untried)") is not is_own


def test_the_maker_of_a_workload() -> None:
    owner = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "name": "k8s",
        "uid": "u",
        "controller": True,
    }
    plain = msgspec.to_builtins(workload({"cpu": "9"}))
    made = msgspec.convert({**plain, "metadata": {**plain["metadata"], "ownerReferences": [owner]}}, StatefulSet)
    (line,) = diagnose(decision(pod({"cpu": "9"}), made))[0].evidence
    assert line == "StatefulSet default/db is made by Prometheus k8s: change it there"


@pytest.mark.parametrize(
    ("reporter", "message", "clause", "cure"),
    [
        (
            "cluster-autoscaler",
            "pod didn't trigger scale-up: 1 max node group size reached, 2 Insufficient memory",
            "the cluster autoscaler adds no node, as the node groups that fit are at their maximum size",
            "raise the maximum size of the node group that fits, so that the cluster autoscaler adds a node",
        ),
        (
            "cluster-autoscaler",
            "pod didn't trigger scale-up: 1 in backoff after failed scale-up",
            "the cluster autoscaler could not add a node, and pauses",
            "find why the cloud provides no node: its quota, or no machines of this type",
        ),
        (
            "karpenter",
            'Failed to schedule pod, incompatible with nodepool "spot", daemonset overhead={"cpu":"1"}, did not '
            "tolerate spot=true:NoSchedule; incompatible with nodepool",
            "NodePool spot of Karpenter can add no node for it: did not tolerate spot=true:NoSchedule",
            "change the requirements or limits of NodePool spot, so that Karpenter can add a node for the pod",
        ),
    ],
)
def test_why_an_autoscaler_adds_no_node(reporter: str, message: str, clause: str, cure: str) -> None:
    of = make_pod("db-0", requests={"cpu": "3"})
    busy = make_pod("busy", node="n0", requests={"cpu": "3"})
    cluster = make_cluster([make_node("n0", cpu="4")], [of, busy], make_event("Pod", "db-0", message, reporter))
    found = decide(of, cluster)
    assert diagnose(found)[0].cause.endswith(f"; {clause}")
    assert cures(found)[0] == f"{cure} (untried)"


def test_a_pod_that_fits_has_no_testimony() -> None:
    of = msgspec.structs.replace(make_pod("db-0", owner=OWNER))
    assert not diagnose(decision(of, make_event("Pod", "db-0", "no instance type fits", "karpenter")))
