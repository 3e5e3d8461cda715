"""Builders of nodes, pods and clusters with neutral defaults, so that a test shows only the relevant fields.

Fields are written as in a manifest (``make_pod(hostNetwork=True)``); parameters that the builders translate are in
snake case.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import kschedctl
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.event import Event
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.release import LATEST, RELEASES, Release
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP, GROUP_PREEMPTION_POLICY, TOPOLOGY_AWARE
from kschedctl.objects.volume import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.nodes.analysis import nodes_overview
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.nodes.request import NodesRequest
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.status import Reason, Status
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.testing.plugin_checks import check_operands
from kschedctl.trials.loaded_cluster import LoadedCluster

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
GPU = "example.com/gpu"
LONG_AGO = "2026-01-01T00:00:00Z"
MIB = 1024 * 1024

T = TypeVar("T", bound=ApiObject)


def make_node(
    name: str = "node",
    *,
    cpu: str | None = "4",
    memory: str | None = "8Gi",
    pods: int | None = 110,
    offers: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    zone: str = "",
    taints: Iterable[str] = (),
    images: Mapping[str, int] | None = None,
    unschedulable: bool = False,
    **status: Any,
) -> Node:
    """Return a node with 4 CPU, 8Gi, 110 pods and its hostname label.

    Parameters
    ----------
    name : str
        The node's name, which is also its hostname.
    cpu, memory, pods
        The allocatable amounts; ``None`` for no such resource.
    offers : mapping
        Further allocatable resources.
    labels : mapping
        Labels besides the hostname.
    zone : str
        The value of the zone label; empty for no label.
    taints : iterable of str
        The taints, as ``key=value:Effect`` or ``key:Effect``.
    images : mapping of str to int
        The sizes of images in bytes, by name.
    unschedulable : bool
        True if the node is cordoned.
    **status
        Further fields of the status.
    """
    offered = {"cpu": cpu, "memory": memory, "pods": pods, **(offers or {})}
    zone_label = {ZONE: zone} if zone else {}
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": {HOSTNAME: name, **zone_label, **(labels or {})}},
            "spec": {"unschedulable": unschedulable, "taints": [_taint(text) for text in taints]},
            "status": {
                "allocatable": {resource: amount for resource, amount in offered.items() if amount is not None},
                "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
                **status,
            },
        },
        Node,
    )


def _taint(text: str) -> dict[str, str]:
    label, _, effect = text.rpartition(":")
    key, _, value = label.partition("=")
    return {"key": key, "value": value, "effect": effect}


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, Any] | None = None,
    node: str = "",
    priority: int = 0,
    nominated: str = "",
    terminating: bool = False,
    owner: tuple[str, str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """Return a pod with one container without requests, as an API server stores it.

    Parameters
    ----------
    name, namespace : str
        The pod's name and namespace.
    labels : mapping
        The pod's labels.
    requests : mapping
        The requests of the only container; not together with ``containers``.
    node : str
        The node that the pod runs on; empty for a pending pod.
    priority : int
        ``spec.priority``.
    nominated : str
        ``status.nominatedNodeName``.
    terminating : bool
        True if the pod is being deleted.
    owner : tuple of str
        The pod's controller: apiVersion, kind and name.
    status : mapping
        Further fields of the status.
    **spec
        Further fields of the spec.
    """
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    metadata["labels"] = dict(labels or {})
    if terminating:
        metadata["deletionTimestamp"] = LONG_AGO
    if owner is not None:
        api_version, kind, owner_name = owner
        reference = {"apiVersion": api_version, "kind": kind, "name": owner_name, "uid": "uid-owner"}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    own = {"nodeName": node, "priority": priority}
    containers = {"containers": [make_container(requests=requests)]}
    pod = msgspec.convert(
        {
            "metadata": metadata,
            "spec": {**containers, **own, **spec},
            "status": {"nominatedNodeName": nominated, **(status or {})},
        },
        Pod,
    )
    return default_pod(pod)


def make_pod_group(
    name: str = "gang",
    *,
    min_count: int | None = None,
    namespace: str = "default",
    topology_key: str = "",
    disrupts_all: bool = False,
    **spec: Any,
) -> PodGroup:
    """Return a PodGroup of v1beta1.

    Parameters
    ----------
    name, namespace : str
        The name and namespace.
    min_count : int, optional
        ``minCount`` of a gang; by default the policy is basic.
    topology_key : str
        The label key of the topology constraint; empty for none.
    disrupts_all : bool
        True for the disruption mode ``all``.
    **spec
        Further fields of the spec.
    """
    own: dict[str, Any] = {
        "schedulingPolicy": {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    }
    if topology_key:
        own["schedulingConstraints"] = {"topology": [{"key": topology_key}]}
    if disrupts_all:
        own["disruptionMode"] = {"all": {}}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    return msgspec.convert({"metadata": metadata, "spec": {**own, **spec}}, PodGroup)


def make_members(names: str, *, group: str = "gang", **fields: Any) -> list[Pod]:
    """Return members of a group, by default pending; the names are separated by spaces."""
    return [make_pod(name, schedulingGroup={"podGroupName": group}, **fields) for name in names.split()]


def with_groups(version: str, *, topology: bool = False, **gates: bool) -> Release:
    """Return a release with all gates of pod groups on; topology and further gates on request."""
    release = RELEASES[version]
    own = {
        name: name != TOPOLOGY_AWARE or topology
        for name in release.gate_dependencies
        if name not in (GROUP_PREEMPTION_POLICY, COMPOSITE_POD_GROUP)
    }
    return release.with_features({**own, **gates})


def make_container(name: str = "c", *, requests: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a container in manifest form."""
    return {"name": name, "image": "registry.example/app:1", "resources": {"requests": dict(requests or {})}, **fields}


def make_object(kind: type[T], name: str, *, namespace: str = "", labels: Any = None, **fields: Any) -> T:
    """Return an object of another kind; its fields are in manifest form."""
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return msgspec.convert({"metadata": metadata, **fields}, kind)


def make_event(
    kind: str,
    name: str,
    message: str,
    reporter: str = "kubelet",
    *,
    reason: str = "FailedCreatePodSandBox",
    namespace: str = "default",
    seen: str = "2026-11-20T10:00:00Z",
) -> Event:
    about = {"kind": kind, "namespace": namespace, "name": name}
    fields = {"type": "Warning", "reason": reason, "message": message, "source": {"component": reporter}}
    return msgspec.convert({**fields, "involvedObject": about, "lastTimestamp": seen}, Event).short()


def make_storage_class(
    name: str = "late",
    *,
    waits: bool = True,
    provisioner: str = "csi.example.com",
    default: bool = False,
    **fields: Any,
) -> StorageClass:
    """Return a StorageClass, by default with ``volumeBindingMode: WaitForFirstConsumer``."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    data = {"metadata": {"name": name, "annotations": annotations}, "volumeBindingMode": mode}
    return msgspec.convert({**data, "provisioner": provisioner, **fields}, StorageClass)


def make_claim(
    name: str = "data",
    *,
    namespace: str = "default",
    size: str = "1Gi",
    modes: Iterable[str] = ("ReadWriteOnce",),
    storage_class: str | None = "late",
    bound: str = "",
    annotations: Mapping[str, str] | None = None,
    owner: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """Return a PersistentVolumeClaim of 1Gi.

    Parameters
    ----------
    name, namespace : str
        The claim's name and namespace.
    size : str
        The requested storage.
    modes : iterable of str
        The access modes.
    storage_class : str or None
        The name of the StorageClass; ``None`` for a claim without the field.
    bound : str
        The volume of a completed binding; empty for an unbound claim.
    annotations : mapping
        The annotations.
    owner : str
        The pod for which the claim was created.
    **spec
        Further fields of the spec.
    """
    completed = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    metadata["annotations"] = {**completed, **(annotations or {})}
    if owner:
        metadata["ownerReferences"] = [
            {"kind": "Pod", "name": owner, "uid": f"uid-{namespace}-{owner}", "controller": True}
        ]
    own = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "storageClassName": storage_class}
    status = {"phase": "Bound" if bound else "Pending"}
    data = {"metadata": metadata, "spec": {**own, "volumeName": bound, **spec}, "status": status}
    return msgspec.convert(data, PersistentVolumeClaim)


def make_volume(
    name: str = "pv",
    *,
    size: str = "1Gi",
    modes: Iterable[str] = ("ReadWriteOnce",),
    storage_class: str = "late",
    claim: str = "",
    phase: str = "",
    affinity: Mapping[str, Iterable[str]] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
    source: Mapping[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolume:
    """Return an available CSI PersistentVolume of 1Gi.

    Parameters
    ----------
    name : str
        The volume's name; its handle is ``handle-`` and the name.
    size : str
        The capacity.
    modes : iterable of str
        The access modes.
    storage_class : str
        The name of the StorageClass.
    claim : str
        ``namespace/name`` of the claim to which the volume is bound.
    phase : str
        The phase; the default is ``Bound`` with a claim, ``Available`` without.
    affinity : mapping of str to iterable of str
        The required node affinity: label keys and their values.
    labels, annotations : mapping
        The labels and annotations.
    deleting : bool
        True if the volume is being deleted.
    source : mapping
        A volume source other than CSI.
    **spec
        Further fields of the spec.
    """
    own: dict[str, Any] = {"capacity": {"storage": size}, "accessModes": list(modes), "storageClassName": storage_class}
    own |= source or {"csi": {"driver": "csi.example.com", "volumeHandle": f"handle-{name}"}}
    if claim:
        namespace, claim_name = claim.split("/")
        own["claimRef"] = {"namespace": namespace, "name": claim_name, "uid": f"uid-{namespace}-{claim_name}"}
    if affinity is not None:
        expressions = [{"key": key, "operator": "In", "values": list(values)} for key, values in affinity.items()]
        own["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    metadata: dict[str, Any] = {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    if deleting:
        metadata["deletionTimestamp"] = LONG_AGO
    status = {"phase": phase or ("Bound" if claim else "Available")}
    return msgspec.convert({"metadata": metadata, "spec": {**own, **spec}, "status": status}, PersistentVolume)


def make_csi_node(name: str = "node", *, limits: Mapping[str, int | None], migrated: str = "") -> CSINode:
    """Return a CSINode with each driver's attach limit; ``migrated`` lists migrated plugins, separated by commas."""
    drivers = [{"name": d, "allocatable": None if n is None else {"count": n}} for d, n in limits.items()]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    data = {"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}
    return msgspec.convert(data, CSINode)


def mount(*claims: str) -> list[dict[str, Any]]:
    """Return a pod's volumes in manifest form, one per claim."""
    return [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(claims)]


def make_namespace(name: str, **labels: str) -> Namespace:
    """Return a namespace with labels."""
    return make_object(Namespace, name, labels=labels)


def make_cluster(nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), *objects: ApiObject) -> Cluster:
    """Return a cluster of nodes, pods and other objects."""
    builder = ClusterBuilder()
    for obj in (*nodes, *pods, *objects):
        builder.add(obj)
    return builder.build()


def make_loaded(cluster: Cluster, version: str = "1.36") -> LoadedCluster:
    """Return a cluster as if loaded from a snapshot, with the rules of a release."""
    snapshot = Snapshot(cluster=cluster, paths=("here",), scheduler_config=None, left_out={})
    return LoadedCluster(snapshot, choose_release(version, "", ()))


def load_engine(*paths: str | Path, **options: Any) -> LoadedCluster:
    """Return the scheduler over a cluster that ``kschedctl.load`` loads."""
    return kschedctl.load(*paths, **options).engine


def scheduling_cluster(cluster: Cluster, version: str = "1.36") -> SchedulingCluster:
    """Return a cluster that answers questions."""
    return SchedulingCluster(make_loaded(cluster, version))


def overview_of(engine: LoadedCluster, **options: Any) -> NodesOverview:
    """Return the overview of nodes, with options of ``NodesRequest``."""
    return nodes_overview(engine, NodesRequest(**options), AnalysisHandle())


def write_snapshot(folder: Path, *objects: Iterable[ApiObject]) -> Path:
    """Write objects as a kubectl list and return the path of the file."""
    kinds = {type_: names for names, type_ in KINDS.items()}
    items = [
        {"apiVersion": f"{group}/v1".lstrip("/"), "kind": kind, **msgspec.to_builtins(obj)}
        for some in objects
        for obj in some
        for group, kind in [kinds[type(obj)]]
    ]
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def make_args(**args: Mapping[str, Any]) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration that sets the arguments of some plugins."""
    return make_profile(pluginConfig=[{"name": plugin, "args": given} for plugin, given in args.items()])


def make_profile(**profile: Any) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration with one profile; its fields are in manifest form."""
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}


def decide(
    pod: Pod,
    cluster: Cluster,
    *,
    release: Release = LATEST,
    config: Mapping[str, Any] | None = None,
    plugins: Mapping[str, type[Plugin]] | None = None,
) -> Decision:
    """Return the decision for a pod.

    Parameters
    ----------
    pod : Pod
        The pod, defaulted.
    cluster : Cluster
        The cluster.
    release : Release
        The release whose rules apply.
    config : mapping
        A KubeSchedulerConfiguration.
    plugins : mapping
        Plugins to register besides the in-tree ones.
    """
    registry = in_tree_registry()
    registry.merge(plugins or {})
    configuration = None
    if config is not None:
        points, types = registry.extension_points(release), registry.args_types
        configuration = load_configuration(config, release=release, implements=points, args_types=types)
    return Scheduler(cluster, release, configuration, Registry(registry)).decide(pod)


def said(decision: Decision, plugin: str, node: str = "node") -> Status:
    """Return a filter's status for a node, without nominated pods; Success if the filter was skipped."""
    assert decision.statuses is not None
    assert decision.statuses.snapshot is not None, decision.pre_filter
    run = decision.statuses.snapshot
    if plugin not in run.rejections:
        return Status()
    position = run.rows.tolist().index(decision.cluster.nodes.row[node])
    return run.rejections[plugin].status(position)


def fitting(decision: Decision, plugin: str) -> str:
    """Return the nodes that pass a filter, separated by spaces, in the order of the cluster."""
    assert decision.statuses is not None
    run = decision.statuses.snapshot
    assert run is not None, decision.pre_filter
    names = [decision.cluster.nodes.names[row] for row in run.rows]
    return " ".join(name for name in names if said(decision, plugin, name) == Status())


def reason(decision: Decision, plugin: str, node: str = "node") -> Reason:
    """Return a filter's only reason to reject a node."""
    (found,) = dict(decision.node(node).reasons)[plugin]
    return found


def told(operands: Operands) -> tuple[str, dict[str, Any]]:
    """Check operands, and return them as words and as data."""
    check_operands(operands)
    return operands.words(), operands.data()


def raw_scores(decision: Decision, plugin: str) -> dict[str, int] | None:
    """Return a Score plugin's raw scores by feasible node; ``None`` if the plugin was skipped."""
    assert decision.scores is not None, decision.message or decision.error
    return _by_node(decision, decision.scores.raw.get(plugin))


def scores(decision: Decision, plugin: str) -> dict[str, int] | None:
    """Return a Score plugin's normalized scores (0 to 100) by feasible node; ``None`` if the plugin was skipped."""
    assert decision.scores is not None, decision.message or decision.error
    return _by_node(decision, decision.scores.normalized.get(plugin))


def _by_node(decision: Decision, values: Any) -> dict[str, int] | None:
    assert decision.scores is not None
    if values is None:
        return None
    names = decision.cluster.nodes.names
    return {names[row]: int(value) for row, value in zip(decision.scores.rows, values, strict=True)}
