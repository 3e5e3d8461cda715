"""The template of a node group: a node as the group would add it, with the pods that it would have from the start.

The autoscaler takes an existing node of the group, or makes one from what the cloud or annotations tell about a group
without nodes (processors/nodeinfosprovider, simulator/node_info_utils.go, cloudprovider/clusterapi).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from msgspec.structs import replace

from kschedctl.autoscaler.cluster_autoscaler.groups import NodeGroup
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_copies import copies_of_belongings, copy_of_node, numbered_names
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.objects.cluster_autoscaler import (
    CAPACITY,
    CAPACITY_LABELS,
    CAPACITY_TAINTS,
    GPU_COUNTS,
    GPU_TYPE,
    ScalableSet,
)
from kschedctl.objects.core import Node, NodeSpec, NodeStatus, Taint
from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import PREFER_NO_SCHEDULE, Pod, tolerated
from kschedctl.objects.quantity import QuantityError, parse_quantity
from kschedctl.objects.well_known import BETA_ZONE, HOSTNAME, ZONE
from kschedctl.objects.workload import DaemonSet

#: Taints that tell the momentary state of a node, which a new node does not have (utils/taints, NodeConditionTaints).
_STATE_TAINTS: Final = frozenset(
    (
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/pid-pressure",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "cloud.google.com/impending-node-termination",
        "NodeWithImpairedVolumes",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
    )
)
_STATE_PREFIXES: Final = tuple(
    f"{each}-taint.cluster-autoscaler.kubernetes.io/" for each in ("startup", "status", "ignore")
)
#: The zone's labels of a node.
_ZONES: Final = (ZONE, BETA_ZONE, "topology.gke.io/zone", "topology.kubernetes.azure.com/zone")
#: The labels of a node of a set of machines without nodes, unless annotations set them (cloudprovider/clusterapi).
_GENERIC_LABELS: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
#: The pods of such a node unless an annotation sets them, and the resource of its GPUs unless one names it.
_MAX_PODS, _GPU = "110", "nvidia.com/gpu"
#: The domains of labels that Cluster API copies from machines to nodes.
_MACHINE_LABELS: Final = ("node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io")


@dataclass(frozen=True, slots=True)
class Template:
    """A node as its group would add it."""

    node: Node
    #: The pods of DaemonSets and static pods that it would have from the start.
    pods: tuple[Pod, ...]
    #: Its CSINode and ResourceSlices.
    belongings: tuple[ApiObject, ...] = ()

    def added_to(self, cluster: Cluster) -> Cluster:
        """Return the cluster with this node as its last one."""
        more = cluster.with_nodes((*cluster.nodes.objects, self.node)).with_pods(added=self.pods)
        return more.with_added(self.belongings) if self.belongings else more


def template_of(cluster: Cluster, group: NodeGroup, groups: Collection[NodeGroup]) -> Template | None:
    """Return the template of a group; ``None`` if it has no node and nothing in the cluster tells what one would be.

    Args:
        groups: All groups. The pools of GKE have a group per zone; their nodes differ in nothing but the zone.
    """
    if (row := _model(cluster, group.rows)) is not None:
        return _copy(cluster, row, "")
    if group.scalable is not None:
        return _of_annotations(cluster, group.scalable)
    siblings = (
        each.rows for each in groups if group.zone and (each.platform, each.pool) == (group.platform, group.pool)
    )
    row = _model(cluster, tuple(sorted(chain.from_iterable(siblings)))) if group.pool else None
    return _copy(cluster, row, group.zone) if row is not None else None


def _model(cluster: Cluster, rows: tuple[int, ...]) -> int | None:
    """Return the first node that is ready and schedulable, else the first one; ``None`` without nodes."""
    nodes = cluster.nodes.objects
    return next((row for row in rows if _is_ready(nodes[row])), rows[0] if rows else None)


def _is_ready(node: Node) -> bool:
    """Report whether a node is ready and schedulable; one without conditions is taken for ready."""
    ready = next((each.status == "True" for each in node.status.conditions if each.type == "Ready"), True)
    return ready and not node.spec.unschedulable and not any(map(_is_of_state, node.spec.taints))


def _is_of_state(taint: Taint) -> bool:
    return taint.key in _STATE_TAINTS or taint.key.startswith(_STATE_PREFIXES)


def _copy(cluster: Cluster, row: int, zone: str) -> Template:
    """Return the template made from a node, in another zone if one is given."""
    model = cluster.nodes.objects[row]
    name = next(numbered_names(model.name, cluster.nodes.row))
    node = copy_of_node(model, name)
    labels = {key: zone if zone and key in _ZONES else value for key, value in node.metadata.labels.items()}
    taints = tuple(taint for taint in model.spec.taints if not _is_of_state(taint))
    node = replace(
        node,
        metadata=replace(node.metadata, labels=labels),
        spec=replace(node.spec, unschedulable=False, taints=taints),
    )
    pods = cluster.pods
    belonging = (
        pods.pod(index)
        for index in pods.on_node(row).tolist()
        if (owner := pods.owner(index)) is not None and owner.kind in NODE_BOUND
    )
    alive = (pod for pod in belonging if pod.metadata.deletion_timestamp is None)
    return Template(
        node, tuple(_on_node(pod, name) for pod in alive), copies_of_belongings((cluster,), model.name, (name,))
    )


def _on_node(pod: Pod, node: str) -> Pod:
    metadata = replace(pod.metadata, name=f"{pod.name}-{node}", uid="")
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=node))


# A group without nodes, of Cluster API or OpenShift.


def _of_annotations(cluster: Cluster, scalable: ScalableSet) -> Template | None:
    """Return the template that annotations of a set of machines describe; ``None`` without CPU or memory."""
    annotations = scalable.metadata.annotations
    offered = {"pods": _MAX_PODS, **dict(_capacity(annotations))}
    if not {"cpu", "memory"} <= offered.keys():
        return None
    name = next(numbered_names(scalable.name, cluster.nodes.row))
    of_machines = scalable.spec.template.metadata.labels
    labels = {
        HOSTNAME: name,
        **_GENERIC_LABELS,
        **{key: value for key, value in of_machines.items() if key.partition("/")[0].endswith(_MACHINE_LABELS)},
        **dict(_pairs(annotations.get(CAPACITY_LABELS, ""))),
    }
    effects = ((key, value.rpartition(":")) for key, value in _pairs(annotations.get(CAPACITY_TAINTS, "")))
    taints = tuple(Taint(key=key, value=value, effect=effect) for key, (value, _, effect) in effects)
    node = Node(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(capacity=dict(offered), allocatable=dict(offered)),
    )
    return Template(node, tuple(_daemon_pods(cluster, node)))


def _capacity(annotations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the resources of a new node in the annotations of its set."""
    for resource, keys in CAPACITY.items():
        amounts = (f"{annotations[key]}{unit}" for key, unit in keys if key in annotations)
        if (amount := next(amounts, "")) and _is_quantity(amount):
            yield resource, amount
    count = next((annotations[key] for key in GPU_COUNTS if key in annotations), "0")
    if _is_quantity(count) and parse_quantity(count) > 0:
        yield annotations.get(GPU_TYPE, "") or _GPU, count


def _is_quantity(text: str) -> bool:
    try:
        return parse_quantity(text) >= 0
    except QuantityError:
        return False


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield keys and values of ``key=value,key=value``.

    >>> dict(_pairs("team=ml,spot"))
    {'team': 'ml', 'spot': ''}
    """
    for each in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = each.partition("=")
        yield key, value


def _daemon_pods(cluster: Cluster, node: Node) -> Iterator[Pod]:
    """Yield the pods that DaemonSets would create on a node that is not in the cluster."""
    nodes = cluster.with_nodes((node,)).nodes
    hard = [taint for taint in node.spec.taints if taint.effect != PREFER_NO_SCHEDULE]
    for each in cluster.list(DaemonSet):
        template = each.spec.template
        if template is None or not all(tolerated(template.spec.tolerations, taint) for taint in hard):
            continue
        if nodes_matching_pod(nodes, template.spec)[0]:
            metadata = ObjectMeta(name=each.name, namespace=each.namespace, labels=template.metadata.labels)
            yield _on_node(Pod(metadata=metadata, spec=default_pod_spec(template.spec)), node.name)
