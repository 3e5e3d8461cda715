"""Builders of nodes, pods and clusters with boring defaults, so that a test shows only what matters.

Fields are written as in a manifest (``make_pod(hostNetwork=True)``); what the builders take apart is in snake case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from kschedctl.api.core import Namespace, Node
from kschedctl.api.defaults import default_pod
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.config.load import load_configuration
from kschedctl.framework.config.types import API_VERSION, KIND
from kschedctl.framework.interface import Plugin
from kschedctl.framework.registry import Registry, in_tree_registry
from kschedctl.framework.release import LATEST, Release
from kschedctl.framework.status import Reason, Status
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler

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
    """A node of 4 CPU, 8Gi and 110 pods with its hostname label.

    Parameters
    ----------
    name : str
        Its name, which is also its hostname.
    cpu, memory, pods
        What is allocatable; ``None`` for nothing.
    offers : mapping
        Further allocatable resources.
    labels : mapping
        Labels besides the hostname.
    zone : str
        The value of the zone label; no label where it is empty.
    taints : iterable of str
        As ``key=value:Effect`` or ``key:Effect``.
    images : mapping of str to int
        Sizes in bytes by name.
    unschedulable : bool
        Whether the node is cordoned.
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
    """A pod of one container without requests, as an API server stores it.

    Parameters
    ----------
    name, namespace : str
        Its name.
    labels : mapping
        Its labels.
    requests : mapping
        What its only container requests; not together with ``containers``.
    node : str
        The node it runs on.
    priority : int
        ``spec.priority``.
    nominated : str
        ``status.nominatedNodeName``.
    terminating : bool
        Whether it is being deleted.
    owner : tuple of str
        Its controller: apiVersion, kind and name.
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


def make_container(name: str = "c", *, requests: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A container in manifest form."""
    return {"name": name, "image": "registry.example/app:1", "resources": {"requests": dict(requests or {})}, **fields}


def make_object(kind: type[T], name: str, *, namespace: str = "", labels: Any = None, **fields: Any) -> T:
    """Any other object, its fields in manifest form."""
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return msgspec.convert({"metadata": metadata, **fields}, kind)


def make_namespace(name: str, **labels: str) -> Namespace:
    """A namespace with labels."""
    return make_object(Namespace, name, labels=labels)


def make_cluster(nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), *objects: ApiObject) -> Cluster:
    """A cluster of nodes, pods and whatever else."""
    builder = ClusterBuilder()
    for obj in (*nodes, *pods, *objects):
        builder.add(obj)
    return builder.build()


def make_args(**args: Mapping[str, Any]) -> dict[str, Any]:
    """A KubeSchedulerConfiguration that sets the args of some plugins."""
    return make_profile(pluginConfig=[{"name": plugin, "args": given} for plugin, given in args.items()])


def make_profile(**profile: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration of one profile, its fields as in the file."""
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}


def decide(
    pod: Pod,
    cluster: Cluster,
    *,
    release: Release = LATEST,
    config: Mapping[str, Any] | None = None,
    plugins: Mapping[str, type[Plugin]] | None = None,
) -> Decision:
    """Decide for a pod.

    Parameters
    ----------
    pod : Pod
        The pod, defaulted.
    cluster : Cluster
        The cluster.
    release : Release
        Whose rules apply.
    config : mapping
        A KubeSchedulerConfiguration.
    plugins : mapping
        Plugins that there are besides the in-tree ones.
    """
    registry = in_tree_registry()
    registry.merge(plugins or {})
    configuration = None
    if config is not None:
        configuration = load_configuration(config, release=release, implements=registry.extension_points(release))
    return Scheduler(cluster, release, configuration, Registry(registry)).explain(pod)


def said(decision: Decision, plugin: str, node: str = "node") -> Status:
    """What a filter says of a node without nominated pods; Success where it was skipped."""
    assert decision.statuses is not None
    assert decision.statuses.snapshot is not None, decision.pre_filter
    run = decision.statuses.snapshot
    if plugin not in run.rejections:
        return Status()
    position = run.rows.tolist().index(decision.cluster.nodes.row[node])
    return run.rejections[plugin].status(position)


def fitting(decision: Decision, plugin: str) -> str:
    """The nodes that a filter lets pass, separated by spaces, in the order of the cluster."""
    assert decision.statuses is not None
    run = decision.statuses.snapshot
    assert run is not None, decision.pre_filter
    names = [decision.cluster.nodes.names[row] for row in run.rows]
    return " ".join(name for name in names if said(decision, plugin, name) == Status())


def reason(decision: Decision, plugin: str, node: str = "node") -> Reason:
    """The only reason of a filter to turn a node away."""
    (found,) = dict(decision.node(node).reasons)[plugin]
    return found


def raw_scores(decision: Decision, plugin: str) -> dict[str, int] | None:
    """What a Score plugin returned by feasible node; ``None`` where it was skipped."""
    assert decision.scores is not None, decision.message or decision.error
    return _by_node(decision, decision.scores.raw.get(plugin))


def scores(decision: Decision, plugin: str) -> dict[str, int] | None:
    """The same brought into 0..100."""
    assert decision.scores is not None, decision.message or decision.error
    return _by_node(decision, decision.scores.normalized.get(plugin))


def _by_node(decision: Decision, values: Any) -> dict[str, int] | None:
    assert decision.scores is not None
    if values is None:
        return None
    return {decision.cluster.nodes.names[row]: int(value) for row, value in zip(decision.scores.rows, values, strict=True)}
