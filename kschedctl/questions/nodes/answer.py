"""The capacity of nodes, as data: printed by ``nodes -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final

from kschedctl.common.frames import Cell, ColumnType, Tabular
from kschedctl.questions.answer import ClusterAnswer, Data, amount_of, unit_name


class NodeAmountsData(Data, frozen=True):
    """The amounts of a resource on a node, as quantities."""

    resource: Annotated[str, "The name of the resource, such as cpu or nvidia.com/gpu."]
    allocatable: Annotated[str, "The amount that the node offers to pods."]
    requested: Annotated[str, "The amount that the pods on the node request, as the scheduler counts it."]
    free: Annotated[str, "The allocatable amount that is not requested; 0 if more is requested than allocatable."]
    nominated: Annotated[
        str,
        "The amount that pending pods request which are nominated to the node. It is part of the free amount, and "
        "pods of lower priority cannot use it.",
    ]


class ResourceTotalData(Data, frozen=True):
    """The amounts of a resource on several nodes that accept new pods, as quantities."""

    resource: Annotated[str, "The name of the resource, such as cpu or nvidia.com/gpu."]
    allocatable: Annotated[str, "The amount that the nodes offer to pods."]
    requested: Annotated[str, "The amount that the pods on the nodes request, as the scheduler counts it."]
    free: Annotated[str, "The sum of the free amounts of the nodes."]
    nominated: Annotated[str, "The part of the free amount that nominated pods request, as on a single node."]
    largest_free: Annotated[str, "The largest free amount of one node: a pod that requests more fits on none of them."]
    largest_free_node: Annotated[
        str, "The node with the largest free amount, the first by name; empty if nothing is free."
    ]


class NodeSetData(Data, frozen=True):
    """Nodes that share a value, and the capacity of those that accept new pods."""

    name: Annotated[
        str,
        "The shared value: a zone, an instance type, a pool, the value of a label, or the taints with the effects "
        "NoSchedule and NoExecute; empty for the nodes without any.",
    ]
    nodes: Annotated[int, "The number of nodes."]
    available: Annotated[int, "The number of nodes that accept new pods: neither cordoned nor unhealthy by a taint."]
    resources: Annotated[
        dict[str, ResourceTotalData],
        "The amounts by the name of the resource, summed over the nodes that accept new pods.",
    ]


class NodeEntryData(Data, frozen=True):
    """A node and its capacity."""

    name: Annotated[str, "The name of the node."]
    ready: Annotated[bool | None, "True if the condition Ready is True; null if the node has no such condition."]
    unschedulable: Annotated[bool, "True if the node is cordoned."]
    available: Annotated[bool, "True if the node accepts new pods: neither cordoned nor unhealthy by a taint."]
    problem: Annotated[str, "The problem of an unhealthy node, in words; empty if there is none."]
    zone: Annotated[str, "The value of the node's zone label; empty if the node has none."]
    instance_type: Annotated[str, "The value of the node's instance type label; empty if the node has none."]
    pool: Annotated[str, "The name of the node's pool, from the label of its provider; empty if unknown."]
    kubelet_version: Annotated[str, "The version of the kubelet; empty if unknown."]
    taints: Annotated[tuple[str, ...], "The taints of the node, as key=value:effect."]
    resources: Annotated[dict[str, NodeAmountsData], "The amounts by the name of the resource."]

    @property
    def status(self) -> str:
        """The status in words, such as ``ready, cordoned``."""
        ready = "unknown" if self.ready is None else "ready" if self.ready else "not ready"
        return f"{ready}, cordoned" if self.unschedulable else ready


class NamespaceRequestsData(Data, frozen=True):
    """The requests of the pods of a namespace on the selected nodes."""

    namespace: Annotated[str, "The namespace."]
    pods: Annotated[int, "The number of its pods on the nodes."]
    requests: Annotated[dict[str, str], "The total requests, as quantities by resource."]


class OwnerRequestsData(Data, frozen=True):
    """The requests of the pods of one workload on a node."""

    owner: Annotated[str, "The workload of the pods, as KIND NAMESPACE/NAME, or Pod NAMESPACE/NAME for a pod."]
    pods: Annotated[tuple[str, ...], "The pods, as namespace/name."]
    requests: Annotated[dict[str, str], "The total requests, as quantities by resource."]


class NodeConditionData(Data, frozen=True):
    """A condition of a node."""

    type: Annotated[str, "The type of the condition, such as Ready or MemoryPressure."]
    status: Annotated[str, "The status: True, False or Unknown."]
    reason: Annotated[str, "The reason for the last change, in one word."]
    message: Annotated[str, "The message of the last change."]
    since: Annotated[datetime | None, "The time of the last change; null if unknown."]


class NodesOverview(ClusterAnswer, Tabular, frozen=True, kw_only=True, tag="NodesOverview"):
    """The free and allocatable capacity of nodes, one by one and in groups."""

    summary: Annotated[str, "The result in one sentence."]
    by: Annotated[str, "The property that the groups share: taints, zone, type, pool, or the key of a label."]
    groups: Annotated[tuple[NodeSetData, ...], "The groups, sorted by name."]
    nodes: Annotated[tuple[NodeEntryData, ...], "The nodes, in the requested order."]
    namespaces: Annotated[
        tuple[NamespaceRequestsData, ...], "The namespaces with pods on the nodes, the largest requests of cpu first."
    ]

    @property
    def yes(self) -> bool:
        """True if no node is unhealthy."""
        return not any(node.problem for node in self.nodes)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the nodes, one line per node: ``node/NAME``."""
        return tuple(f"node/{node.name}" for node in self.nodes)

    def column_types(self) -> dict[str, ColumnType]:
        """Return the columns of the table of nodes, with four columns for each resource that a node has."""
        return _NODE_COLUMNS | {f"{amount}.{unit_name(name)}": int for name in self._resources for amount in _AMOUNTS}

    def table(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the rows of the table, one per node; a resource that a node does not have is 0."""
        columns = [(name, amount) for name in self._resources for amount in _AMOUNTS]
        for node in self.nodes:
            of = node.resources
            yield (
                *(", ".join(node.taints) if name == "taints" else getattr(node, name) for name in _NODE_COLUMNS),
                *(amount_of(name, getattr(of[name], amount)) if name in of else 0 for name, amount in columns),
            )

    @property
    def _resources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for node in self.nodes for name in node.resources))


_NODE_COLUMNS: Final[dict[str, ColumnType]] = {
    "name": str,
    "ready": bool,
    "unschedulable": bool,
    "available": bool,
    "problem": str,
    "zone": str,
    "instance_type": str,
    "pool": str,
    "kubelet_version": str,
    "taints": str,
}
_AMOUNTS: Final = ("allocatable", "requested", "free", "nominated")


class NodeDescription(ClusterAnswer, frozen=True, kw_only=True, tag="NodeDescription"):
    """One node: its capacity, the workloads that use it, its conditions and taints."""

    summary: Annotated[str, "The result in one sentence."]
    node: Annotated[NodeEntryData, "The node and its capacity."]
    labels: Annotated[dict[str, str], "The labels of the node."]
    conditions: Annotated[tuple[NodeConditionData, ...], "The conditions of the node."]
    owners: Annotated[
        tuple[OwnerRequestsData, ...], "The workloads with pods on the node, the largest requests of cpu first."
    ]
    nominated: Annotated[
        tuple[OwnerRequestsData, ...], "The workloads with pending pods that are nominated to the node."
    ]

    resizes: Annotated[
        tuple[str, ...],
        "The pods whose resize the kubelet has not carried out, each with what it counts and what it has.",
    ] = ()

    @property
    def yes(self) -> bool:
        """True if the node is not unhealthy."""
        return not self.node.problem

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the node: ``node/NAME``."""
        return (f"node/{self.node.name}",)
