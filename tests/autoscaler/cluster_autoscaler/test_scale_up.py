"""The answer of Cluster Autoscaler for a pod: the group that it enlarges, or the reason why it adds no node."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.autoscaler.cluster_autoscaler.scale_up import scale_up_of
from kschedctl.autoscaler.expansion import Expansion
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.cluster_autoscaler import (
    ClusterAutoscaler,
    MachineAutoscaler,
    MachineDeployment,
    OpenShiftMachineSet,
)
from kschedctl.objects.coordination import ConfigMap
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.workload import DaemonSet, Deployment
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.remedy import Patch
from tests.builders import make_cluster, make_event, make_node, make_object, make_pod

UUID = "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"
GENERAL, LARGE = f"eks-general-{UUID}", f"eks-large-{UUID}"
WRITTEN = "2026-05-04T12:00:00Z"


def group(
    name: str,
    *,
    target: int = 1,
    maximum: int = 5,
    ready: int | None = None,
    scale_up: Any = None,
    health: str = "Healthy",
) -> dict[str, Any]:
    """Return a node group of the status in its YAML form."""
    counts = {"registered": {"total": target, "ready": target if ready is None else ready}}
    sizes = {"cloudProviderTarget": target, "minSize": 0, "maxSize": maximum}
    return {"name": name, "health": {"status": health, "nodeCounts": counts, **sizes}, "scaleUp": scale_up or {}}


def status(*groups: Mapping[str, Any], time: str = WRITTEN, health: str = "Healthy") -> ConfigMap:
    """Return the ConfigMap with the status."""
    counts = {"registered": {"total": 4, "ready": 1}}
    wide = {"health": {"status": health, "nodeCounts": counts}}
    text = {"time": time, "autoscalerStatus": "Running", "clusterWide": wide, "nodeGroups": groups}
    return make_object(
        ConfigMap, "cluster-autoscaler-status", namespace="kube-system", data={"status": json.dumps(text)}
    )


def eks_node(name: str, pool: str, **fields: Any) -> Node:
    return make_node(name, labels={"eks.amazonaws.com/nodegroup": pool}, **fields)


NODES = (eks_node("a", "general", cpu="4"), eks_node("b", "large", cpu="16", taints=["team=ml:NoSchedule"]))
FULL = (make_pod("web", node="a", requests={"cpu": "4"}), make_pod("train", node="b", requests={"cpu": "16"}))


def answer(pod: Pod, *objects: ApiObject, nodes: tuple[Node, ...] = NODES, pods: tuple[Pod, ...] = FULL) -> Expansion:
    found = of_cluster(pod, make_cluster(nodes, pods, *objects))
    assert found is not None
    return found


def of_cluster(pod: Pod, cluster: Cluster) -> Expansion | None:
    cluster = cluster.at(datetime(2026, 5, 4, 12, 1, tzinfo=UTC))
    scale_up = scale_up_of(cluster)
    if scale_up is None:
        return None
    scheduler = Scheduler(cluster, LATEST)
    name = pod.spec.scheduler_name if scheduler.knows(pod) else next(iter(scheduler.configuration.profiles))
    return scale_up.expansion(scheduler.framework(name), pod)


BOTH = status(group(GENERAL), group(LARGE))
SMALL = make_pod(requests={"cpu": "2"})
ML = [{"key": "team", "operator": "Exists"}]


def test_the_group_whose_node_takes_the_pod() -> None:
    found = answer(SMALL, BOTH)
    assert found.offer is not None
    assert (found.offer.group, found.offer.words) == ("nodegroup general", "a node of nodegroup general")
    assert [(each.group, each.reason) for each in found.refusals] == [
        ("nodegroup large", "would add a node that does not take the pod: taint team=ml:NoSchedule is not tolerated")
    ]
    assert found.refusals[0].said == "node(s) had untolerated taint(s)"
    assert (found.autoscaler, found.held) == ("Cluster Autoscaler", "")
    assert found.source == "its status of 2026-05-04 12:00 UTC"


def test_of_several_groups_the_one_with_the_least_waste_is_first() -> None:
    found = answer(make_pod(requests={"cpu": "2"}, tolerations=ML), status(group(LARGE), group(GENERAL)))
    assert found.offer is not None
    assert found.offer.words == "a node of nodegroup general, or of nodegroup large"
    assert found.refusals == ()


@pytest.mark.parametrize(
    ("general", "reason", "said"),
    [
        pytest.param(
            group(GENERAL, target=5), "is at its maximum size of 5 nodes", "max node group size reached", id="maximum"
        ),
        pytest.param(
            group(
                GENERAL,
                scale_up={
                    "status": "Backoff",
                    "backoffInfo": {"errorCode": "OutOfCapacity", "errorMessage": "no m5.large"},
                    "lastTransitionTime": "2026-05-04T11:58:00Z",
                },
            ),
            "is in backoff since 2026-05-04 11:58 UTC, after nodes could not be added: OutOfCapacity: no m5.large",
            "in backoff after failed scale-up",
            id="backoff",
        ),
        pytest.param(
            group(GENERAL, target=4, ready=1, health="Unhealthy"),
            "is unhealthy (1 of 4 nodes are ready)",
            "not ready for scale-up",
            id="unhealthy",
        ),
    ],
)
def test_a_group_that_is_left_out(general: dict[str, Any], reason: str, said: str) -> None:
    # Nodes that are unready are not on their way.
    general["health"]["nodeCounts"]["registered"]["unready"] = {"total": 3}
    found = answer(SMALL, status(general))
    assert found.offer is None
    assert [(each.reason, each.said) for each in found.refusals] == [(reason, said)]


def test_a_group_at_its_maximum_is_raised_if_its_node_takes_the_pod() -> None:
    found = answer(SMALL, status(group(GENERAL, target=5), group(LARGE, target=5)))
    (change,) = found.changes
    assert change.summary == "raise the maximum size of nodegroup general from 5 to 6"
    assert change.command.endswith("--nodegroup-name general --scaling-config maxSize=6")
    assert (change.offer.group, change.changes) == ("nodegroup general", ())


DAEMON = ("apps/v1", "DaemonSet", "agent")
HELD = {
    "of a DaemonSet": (make_pod(owner=DAEMON), "it adds no nodes for pods of DaemonSets"),
    "below the cutoff": (
        make_pod(priority=-11),
        "the pod's priority, -11, is below -10: it adds no nodes for expendable pods",
    ),
    "nominated": (make_pod(nominated="a"), "it counts the pod on a, to which the pod is nominated"),
    "gated": (make_pod(schedulingGates=[{"name": "quota"}]), "it waits until the pod's scheduling gates are gone"),
}


@pytest.mark.parametrize(("pod", "held"), HELD.values(), ids=HELD)
def test_pods_that_it_does_not_look_at(pod: Pod, held: str) -> None:
    found = answer(pod, BOTH)
    assert (found.held, found.offer) == (held, None)


LOOKED_AT = {"at the cutoff": -10, "without a priority class": 0}


@pytest.mark.parametrize("priority", LOOKED_AT.values(), ids=LOOKED_AT)
def test_pods_that_it_looks_at(priority: int) -> None:
    assert answer(make_pod(priority=priority, requests={"cpu": "2"}), BOTH).held == ""


IDLE = {
    "an old status": (
        status(group(GENERAL), time="2026-05-04 09:00:00.5 +0000 UTC"),
        "it has not written its status since 2026-05-04 09:00 UTC (3 h 1 min) and does not seem to run",
    ),
    "an unhealthy cluster": (
        status(group(GENERAL), health="Unhealthy"),
        "it does nothing while the cluster is unhealthy (1 of 4 nodes are ready)",
    ),
    "nodes on their way": (
        status(group(GENERAL, target=3, ready=1)),
        "2 nodes of nodegroup general are on their way, and the pod fits on such a node",
    ),
}


@pytest.mark.parametrize(("config_map", "held"), IDLE.values(), ids=IDLE)
def test_nothing_is_added(config_map: ConfigMap, held: str) -> None:
    found = answer(SMALL, config_map)
    assert (found.held, found.offer) == (held, None)


def test_the_settings_of_openshift() -> None:
    settings = {"podPriorityThreshold": -5, "resourceLimits": {"maxNodesTotal": 2}}
    found = make_object(ClusterAutoscaler, "default", spec=settings)
    assert answer(SMALL, BOTH, found).held == "max total nodes in cluster reached: 2 of 2"
    found = make_object(ClusterAutoscaler, "default", spec={"podPriorityThreshold": -5})
    assert "below -5" in answer(make_pod(priority=-6), BOTH, found).held


def test_daemons_of_the_node_are_on_the_template_and_other_pods_are_not() -> None:
    daemon = make_pod("agent-a", node="a", owner=DAEMON, requests={"cpu": "500m"})
    pods = (*FULL, daemon)
    assert answer(make_pod(requests={"cpu": "3500m"}), BOTH, pods=pods).offer is not None
    refused = answer(make_pod(requests={"cpu": "3600m"}), BOTH, pods=pods)
    assert refused.offer is None
    assert refused.refusals[0].said == "Insufficient cpu"


def test_the_template_has_none_of_the_taints_of_the_state_of_its_node() -> None:
    taints = [
        "ToBeDeletedByClusterAutoscaler=1:NoSchedule",
        "startup-taint.cluster-autoscaler.kubernetes.io/x:NoExecute",
    ]
    node = eks_node("a", "general", taints=[*taints, "node.kubernetes.io/unschedulable:NoSchedule"], unschedulable=True)
    found = answer(SMALL, status(group(GENERAL)), nodes=(node,))
    assert found.offer is not None
    assert found.offer.node.spec.taints == ()
    assert found.offer.node.name != "a"
    assert found.offer.node.metadata.labels["kubernetes.io/hostname"] == found.offer.node.name


def test_a_group_without_nodes_whose_nodes_nobody_knows() -> None:
    (refusal,) = answer(SMALL, status(group(f"eks-gpu-{UUID}", target=0))).refusals
    assert (refusal.group, refusal.is_open) == ("nodegroup gpu", True)
    assert refusal.reason == "has no node now, and nothing in the cluster tells what its nodes are like"


def test_a_group_of_gke_without_nodes_in_its_zone_is_like_that_of_another_zone() -> None:
    url = "https://gce.example/zones/{}/instanceGroups/gke-shop-web-0a1b2c3{}-grp"
    node = make_node("gke-shop-web-0a1b2c3d-x1y2", zone="z-a", labels={"cloud.google.com/gke-nodepool": "web"})
    pod = make_pod(requests={"cpu": "2"}, nodeSelector={"topology.kubernetes.io/zone": "z-b"})
    found = answer(pod, status(group(url.format("z-a", "d")), group(url.format("z-b", "e"))), nodes=(node,))
    assert found.offer is not None
    assert found.offer.words == "a node of node pool web in zone z-b (in zone z-b)"


def scalable(kind: type[Any], name: str, maximum: int, replicas: int, **annotations: str) -> Any:
    """Return a set of machines with sizes; annotations are those of its capacity."""
    prefix = "machine.openshift.io" if kind is OpenShiftMachineSet else "cluster.x-k8s.io"
    sizes = {"min-size": "0", "max-size": str(maximum)}
    own = {f"{prefix}/cluster-api-autoscaler-node-group-{key}": value for key, value in sizes.items()}
    own |= {f"capacity.cluster-autoscaler.kubernetes.io/{key}": value for key, value in annotations.items()}
    made = make_object(kind, name, namespace="machines", spec={"replicas": replicas})
    return replace(made, metadata=replace(made.metadata, annotations=own))


GPU_GROUP = scalable(
    MachineDeployment,
    "gpu",
    2,
    0,
    cpu="8",
    memory="32Gi",
    **{"gpu-count": "1", "labels": "team=ml", "taints": "gpu=yes:NoSchedule"},
)
GPU_POD: dict[str, Any] = {
    "requests": {"cpu": "2", "nvidia.com/gpu": "1"},
    "nodeSelector": {"team": "ml"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
}


def test_a_set_of_machines_at_zero_has_the_template_of_its_annotations() -> None:
    found = answer(make_pod(**GPU_POD), GPU_GROUP)
    assert found.offer is not None
    assert found.offer.words == "a node of MachineDeployment gpu"
    assert found.source == "the sizes of its sets of machines"
    assert answer(make_pod(requests={"cpu": "9"}), GPU_GROUP).offer is None


def test_daemon_sets_run_on_a_node_from_zero() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "7"}}}]}}
    tolerating = {"spec": {**template["spec"], "tolerations": [{"operator": "Exists"}]}}
    for spec, fits in ((template, True), (tolerating, False)):
        daemon_set = make_object(DaemonSet, "agent", namespace="kube-system", spec={"template": spec})
        assert (answer(make_pod(**GPU_POD), GPU_GROUP, daemon_set).offer is not None) == fits


def test_a_set_of_machines_is_raised_where_its_size_is_written() -> None:
    full = scalable(MachineDeployment, "web", 1, 1, cpu="4", memory="8Gi")
    (change,) = answer(SMALL, full).changes
    key = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
    assert change.command == (
        f"kubectl annotate machinedeployments.cluster.x-k8s.io -n machines web --overwrite {key}=2"
    )
    (patch,) = change.changes
    assert isinstance(patch, Patch)
    assert (patch.kind, patch.patch[0]["value"]) == ("MachineDeployment", "2")


def test_a_set_of_openshift_is_raised_at_its_machine_autoscaler() -> None:
    full = scalable(OpenShiftMachineSet, "web", 1, 1, cpu="4", memory="8Gi")
    spec = {"maxReplicas": 1, "scaleTargetRef": {"kind": "MachineSet", "name": "web"}}
    autoscaler = make_object(MachineAutoscaler, "web-scaler", namespace="machines", spec=spec)
    (change,) = answer(SMALL, full, autoscaler).changes
    assert change.command == (
        "kubectl patch machineautoscalers.autoscaling.openshift.io -n machines web-scaler --type merge "
        '-p \'{"spec":{"maxReplicas":2}}\''
    )


EVENT = make_event("Pod", "pod", "pod didn't trigger scale-up", "cluster-autoscaler", reason="NotTriggerScaleUp")
CONTAINER = {"name": "c", "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"}
DEPLOYMENT = make_object(
    Deployment, "ca", namespace="kube-system", spec={"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}
)
SEEN = {
    "its Events": (SMALL, EVENT),
    "its Deployment": (DEPLOYMENT,),
    "its pod": (make_pod("ca-1", node="b", containers=[CONTAINER]),),
}


@pytest.mark.parametrize("objects", SEEN.values(), ids=SEEN)
def test_labels_are_groups_if_an_autoscaler_is_seen(objects: tuple[ApiObject, ...]) -> None:
    found = of_cluster(SMALL, make_cluster(NODES, FULL, *objects))
    assert found is not None
    assert found.offer is not None
    assert found.offer.group == "nodegroup general"
    assert found.is_open
    assert found.words.endswith(" for it, if nodegroup general is not at its maximum size")
    assert found.source == "labels of nodes; the sizes of its groups are not known"


STOPPED = make_object(
    Deployment, "ca", namespace="kube-system", spec={"replicas": 0, "template": {"spec": {"containers": [CONTAINER]}}}
)
UNSEEN = {
    "no trace of one": make_cluster(NODES, FULL),
    "a Deployment without replicas": make_cluster(NODES, FULL, STOPPED),
    "no group": make_cluster([make_node()], [SMALL], EVENT),
    "nodes of Karpenter": make_cluster(
        [make_node(labels={"karpenter.sh/nodepool": "a", "eks.amazonaws.com/nodegroup": "a"})], [SMALL], EVENT
    ),
}


@pytest.mark.parametrize("cluster", UNSEEN.values(), ids=UNSEEN)
def test_no_answer(cluster: Cluster) -> None:
    assert of_cluster(SMALL, cluster) is None


def test_each_group_is_tried_alone() -> None:
    # Two templates together would be two domains.
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    pod = make_pod(
        labels={"app": "web"},
        requests={"cpu": "2"},
        topologySpreadConstraints=[{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}],
    )
    assert answer(pod, BOTH).offer is not None
