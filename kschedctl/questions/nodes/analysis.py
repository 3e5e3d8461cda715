"""The analysis behind ``nodes``: the selected nodes, their order and groups, and the answer."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted, listed, near
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.evidence.resizes import pending_resizes
from kschedctl.diagnosis.node_health import condition_of, health_problem, health_taints, is_unhealthy, since
from kschedctl.objects.core import Node
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT
from kschedctl.objects.resources import CPU, MEMORY, PODS, RequestRules, exact_quantity
from kschedctl.objects.selectors import parse_label_query
from kschedctl.objects.well_known import instance_type_of, pool_name, zone_of
from kschedctl.questions.answer import EnvelopeFields, readable
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.nodes.answer import (
    NamespaceRequestsData,
    NodeAmountsData,
    NodeConditionData,
    NodeDescription,
    NodeEntryData,
    NodeSetData,
    NodesOverview,
    OwnerRequestsData,
    ResourceTotalData,
)
from kschedctl.questions.nodes.request import BY_NAME, BY_TAINTS, NodesRequest
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.trials.completeness import missing_for_nodes
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import find_nodes, is_pattern

# The capacity of nodes as columns: allocatable, requested by pods, and requested by nominated pods.


class NodeCapacity:
    """The capacity of the nodes of a cluster, as the scheduler counts it.

    allocatable: The amounts in milli-CPU, bytes and counts; ``nominated`` is requested by pending pods that are
        nominated to the node, and ``free`` is at least 0.
    requested: The amounts in milli-CPU, bytes and counts; ``nominated`` is requested by pending pods that are
        nominated to the node, and ``free`` is at least 0.
    nominated: The amounts in milli-CPU, bytes and counts; ``nominated`` is requested by pending pods that are
        nominated to the node, and ``free`` is at least 0.
    free: The amounts in milli-CPU, bytes and counts; ``nominated`` is requested by pending pods that are nominated
        to the node, and ``free`` is at least 0.
    """

    def __init__(self, cluster: Cluster, rules: RequestRules) -> None:
        self._cluster = cluster
        self._columns = cluster.resources(rules)
        self.names = self._columns.names
        self.allocatable = self._columns.allocatable
        self.requested = self._columns.requested
        self.free = np.maximum(self.allocatable - self.requested, 0)
        self.nominated = np.zeros_like(self.requested)
        pods = cluster.pods
        waiting = pods.nominated
        np.add.at(self.nominated.T, pods.nominated_to(waiting), self._columns.per_class[:, pods.class_id[waiting]].T)

    @cached_property
    def available(self) -> Mask:
        """The nodes that accept new pods, neither cordoned nor unhealthy by a taint: bool, shape (n_nodes,)."""
        nodes = self._cluster.nodes
        unhealthy = np.array([is_unhealthy(node) for node in nodes.objects], dtype=np.bool_)
        return ~(nodes.unschedulable | unhealthy)

    def of_node(self, row: int) -> dict[str, NodeAmountsData]:
        """Return the amounts on a node, for all resources that it offers or that its pods request."""
        some = np.flatnonzero(self.allocatable[:, row] + self.requested[:, row])
        return {
            (name := self.names[i]): NodeAmountsData(
                name,
                exact_quantity(name, int(self.allocatable[i, row])),
                exact_quantity(name, int(self.requested[i, row])),
                exact_quantity(name, int(self.free[i, row])),
                exact_quantity(name, int(self.nominated[i, row])),
            )
            for i in some.tolist()
        }

    def total(self, rows: Rows) -> dict[str, ResourceTotalData]:
        """Return the sums over those of some nodes that accept new pods, for all resources that they offer."""
        rows = rows[self.available[rows]]
        return {each.resource: each for each in self._totals(rows)} if len(rows) else {}

    def _totals(self, rows: Rows) -> Iterable[ResourceTotalData]:
        by_name = self._cluster.nodes.by_name[0]
        rows = rows[np.argsort(by_name[rows])]
        for i, name in enumerate(self.names):
            offered, free = int(self.allocatable[i, rows].sum()), self.free[i, rows]
            if offered:
                # argmax returns the first of equal nodes.
                best = int(np.argmax(free))
                yield ResourceTotalData(
                    name,
                    exact_quantity(name, offered),
                    exact_quantity(name, int(self.requested[i, rows].sum())),
                    exact_quantity(name, int(free.sum())),
                    exact_quantity(name, int(self.nominated[i, rows].sum())),
                    exact_quantity(name, int(free[best])),
                    self._cluster.nodes.names[int(rows[best])] if free[best] else "",
                )

    def fullest_first(self, rows: Rows, resource: str) -> Rows:
        """Return the rows with the largest requested share of a resource first; nodes without it are last."""
        i = self.names.index(resource)
        offered = self.allocatable[i, rows]
        share = np.where(offered > 0, self.requested[i, rows] / np.maximum(offered, 1), -1.0)
        return rows[np.lexsort((self._cluster.nodes.by_name[0][rows], -share))]

    def namespaces(self, rows: Rows) -> tuple[NamespaceRequestsData, ...]:
        """Return the requests of the pods on some nodes by namespace, the largest requests of CPU first."""
        pods = self._cluster.pods
        classes, of_rows, counts = pods.cells(np.arange(len(pods.classes), dtype=np.int64))
        here = np.isin(of_rows, rows)
        sums: defaultdict[str, Int64Array] = defaultdict(lambda: np.zeros(len(self.names), dtype=np.int64))
        number = np.bincount(classes[here], counts[here], len(pods.classes)).astype(np.int64)
        for class_id in np.flatnonzero(number).tolist():
            sums[pods.classes[class_id].namespace] += self._columns.per_class[:, class_id] * number[class_id]
        return tuple(
            NamespaceRequestsData(name, int(amounts[self._columns.index[PODS]]), self._requests(amounts))
            for name, amounts in self._largest(sums)
        )

    def owners(self, indices: PodIndices) -> tuple[OwnerRequestsData, ...]:
        """Return the requests of some pods by workload, the largest requests of CPU first."""
        pods = self._cluster.pods
        sums: defaultdict[str, Int64Array] = defaultdict(lambda: np.zeros(len(self.names), dtype=np.int64))
        keys: defaultdict[str, list[str]] = defaultdict(list)
        for index in indices.tolist():
            kind, namespace, name = workload_of(self._cluster, pods.records[index].metadata)
            owner = f"{kind} {namespace}/{name}"
            sums[owner] += self._columns.per_class[:, pods.class_id[index]]
            keys[owner].append(pods.key(index))
        return tuple(
            OwnerRequestsData(owner, tuple(sorted(keys[owner])), self._requests(amounts))
            for owner, amounts in self._largest(sums)
        )

    def _largest(self, sums: dict[str, Int64Array]) -> list[tuple[str, Int64Array]]:
        cpu, pods = self._columns.index[CPU], self._columns.index[PODS]
        return sorted(sums.items(), key=lambda item: (-int(item[1][cpu]), -int(item[1][pods]), item[0]))

    def _requests(self, amounts: Int64Array) -> dict[str, str]:
        return {
            name: exact_quantity(name, int(amount))
            for name, amount in zip(self.names, amounts, strict=True)
            if amount and name != PODS
        }


def _own_taints(node: Node) -> str:
    """Return the taints that keep pods away from a healthy node, as text."""
    problems = (UNSCHEDULABLE_TAINT, *health_taints(node))
    taints = (t for t in node.spec.taints if t.effect in (NO_SCHEDULE, NO_EXECUTE) and t not in problems)
    return ", ".join(sorted(map(str, taints)))


_GROUPINGS: Final[dict[str, Callable[[Node], str]]] = {
    BY_TAINTS: _own_taints,
    "zone": lambda node: zone_of(node.metadata.labels),
    "type": lambda node: instance_type_of(node.metadata.labels),
    "pool": lambda node: pool_name(node.metadata.labels),
}


def _selected_rows(cluster: Cluster, request: NodesRequest) -> Rows:
    """Return the rows of the selected nodes, by name.

    Raises InputError if a name or the selector matches no node, or both are given.
    """
    if request.nodes and request.selector:
        raise InputError("names of nodes and a selector are given", hint="give one of them", path="--selector")
    mask = np.ones(len(cluster.nodes), dtype=np.bool_)
    if request.nodes:
        mask[:] = False
        for name in request.nodes:
            mask[find_nodes(cluster, name)] = True
    if request.selector:
        mask = cluster.nodes.labels.matches(parse_label_query(request.selector))
        if not mask.any():
            raise InputError(f'no node matches the selector "{request.selector}"', path="--selector")
    place = cluster.nodes.by_name[0]
    rows = np.flatnonzero(mask)
    return rows[np.argsort(place[rows])]


def nodes(cluster: LoadedCluster, request: NodesRequest, handle: AnalysisHandle) -> NodesOverview | NodeDescription:
    """Report the free and allocatable capacity of nodes, or describe the only node that is named.

    Raises InputError if no node is selected, or the grouping or the order names nothing that the nodes have.
    """
    names = request.nodes
    if len(names) == 1 and not request.selector and request.by == BY_TAINTS and not is_pattern(names[0]):
        return describe_node(cluster, names[0])
    return nodes_overview(cluster, request, handle)


def nodes_overview(cluster: LoadedCluster, request: NodesRequest, handle: AnalysisHandle) -> NodesOverview:
    """Report the capacity of nodes, one by one and in groups; errors are those of ``nodes``."""
    cluster.require_nodes()
    rows = _selected_rows(cluster.cluster, request)
    capacity = _capacity(cluster)
    groups = _node_sets(cluster.cluster, capacity, rows, request.by)
    entries = {row: _entry(cluster.cluster, capacity, row) for row in handle.track(rows.tolist(), "describing nodes")}
    ordered = _ordered(capacity, rows, request.sort_by).tolist()
    states = ", ".join(_states(tuple(entries.values())))
    free = _free(_node_sets(cluster.cluster, capacity, rows, BY_TAINTS))
    return NodesOverview(
        **_envelope(cluster),
        summary=f"{'; '.join((states, *free))}.",
        by=request.by,
        groups=groups,
        nodes=tuple(entries[row] for row in ordered),
        namespaces=capacity.namespaces(rows),
    )


def describe_node(cluster: LoadedCluster, name: str) -> NodeDescription:
    """Report the capacity of a node, the workloads that use it, its conditions and taints.

    Raises InputError if the cluster has no such node.
    """
    cluster.require_nodes()
    capacity = _capacity(cluster)
    row = cluster.cluster.nodes.find(name)
    pods, node = cluster.pods, cluster.nodes.objects[row]
    waiting = pods.nominated
    entry = _entry(cluster.cluster, capacity, row)
    state = [entry.problem or ("ready" if entry.ready else ""), "cordoned" if entry.unschedulable else ""]
    states = listed([each for each in state if each])
    free = [
        f"{readable(each.resource, each.free)} of {readable(each.resource, each.allocatable)} {each.resource}"
        for each in entry.resources.values()
        if each.allocatable != "0" and each.resource in (CPU, MEMORY)
    ]
    described = f"{entry.name} is {states}" if states else entry.name
    return NodeDescription(
        **_envelope(cluster),
        summary=f"{described}; {f'free: {listed(free)}' if free else 'no allocatable cpu or memory'}.",
        node=entry,
        labels=node.metadata.labels,
        conditions=tuple(
            NodeConditionData(each.type, each.status, each.reason, each.message, each.last_transition_time)
            for each in node.status.conditions
        ),
        owners=capacity.owners(pods.on_node(row)),
        nominated=capacity.owners(waiting[pods.nominated_to(waiting) == row]),
        resizes=tuple(
            f"{pods.key(each.index)} {each.words()}" for each in pending_resizes(cluster.cluster) if each.row == row
        ),
    )


def _capacity(cluster: LoadedCluster) -> NodeCapacity:
    return NodeCapacity(cluster.cluster, RequestRules.of(cluster.release_choice.release))


def _envelope(cluster: LoadedCluster) -> EnvelopeFields:
    return envelope(cluster.cluster, provenance(cluster, missing_for_nodes(cluster.cluster)))


def _ordered(capacity: NodeCapacity, rows: Rows, sort_by: str) -> Rows:
    if sort_by == BY_NAME:
        return rows
    offered = [name for i, name in enumerate(capacity.names) if capacity.allocatable[i, rows].any()]
    if sort_by not in offered:
        hint = near(sort_by, (BY_NAME, *offered), "values")
        raise InputError(f'no node has allocatable "{sort_by}"', path="--sort-by", hint=hint)
    return capacity.fullest_first(rows, sort_by)


def _node_sets(cluster: Cluster, capacity: NodeCapacity, rows: Rows, by: str) -> tuple[NodeSetData, ...]:
    """Return the nodes in groups.

    Raises InputError if no node has the property.
    """
    value_of = _GROUPINGS.get(by) or (lambda node: node.metadata.labels.get(by, ""))
    members: dict[str, list[int]] = {}
    for row in rows.tolist():
        members.setdefault(value_of(cluster.nodes.objects[row]), []).append(row)
    if by != BY_TAINTS and set(members) == {""}:
        what = f"a label of its {by}" if by in _GROUPINGS else f"the label {by}"
        labels = {key for row in rows.tolist() for key in cluster.nodes.objects[row].metadata.labels}
        hint = "name a label: --by LABEL" if by in _GROUPINGS else near(by, sorted(labels), "labels")
        raise InputError(f"no node has {what}", path="--by", hint=hint)
    sets = {name: np.array(members[name], dtype=np.int64) for name in sorted(members)}
    return tuple(
        NodeSetData(name, len(own), int(capacity.available[own].sum()), capacity.total(own))
        for name, own in sets.items()
    )


def _entry(cluster: Cluster, capacity: NodeCapacity, row: int) -> NodeEntryData:
    node = cluster.nodes.objects[row]
    ready = condition_of(node, "Ready")
    return NodeEntryData(
        name=node.name,
        ready=None if ready is None else ready.status == "True",
        unschedulable=node.spec.unschedulable,
        available=bool(capacity.available[row]),
        problem=_problem(node),
        zone=zone_of(node.metadata.labels),
        instance_type=instance_type_of(node.metadata.labels),
        pool=pool_name(node.metadata.labels),
        kubelet_version=node.status.node_info.kubelet_version,
        taints=tuple(map(str, node.spec.taints)),
        resources=capacity.of_node(row),
    )


def _problem(node: Node) -> str:
    """Return the problem of a node: a taint that stands for one, or else the condition Ready."""
    if is_unhealthy(node):
        return health_problem(node)
    ready = condition_of(node, "Ready")
    if ready is None or ready.status == "True":
        return ""
    return f"not ready{since(ready.last_transition_time)}" + (f" ({ready.reason})" if ready.reason else "")


def _states(entries: tuple[NodeEntryData, ...]) -> Iterator[str]:
    yield counted(len(entries), "node")
    if any(entry.ready is not None for entry in entries):
        yield f"{sum(entry.ready or False for entry in entries)} ready"
    cordoned = sum(entry.unschedulable for entry in entries)
    if cordoned:
        yield f"{cordoned} cordoned"
    unhealthy = sum(bool(entry.problem) for entry in entries)
    if unhealthy:
        yield f"{unhealthy} unhealthy"


def _free(groups: tuple[NodeSetData, ...]) -> Iterator[str]:
    """Yield the free capacity of the nodes that accept any pod, or else of those that accept pods with a toleration."""
    groups = tuple(group for group in groups if group.available)
    tainted = [group for group in groups if group.name]
    anyone = next((group for group in groups if not group.name), None)
    if anyone is not None:
        need = "needs" if anyone.available == 1 else "need"
        where = f" on the {counted(anyone.available, 'node')} that {need} no toleration" if tainted else ""
        yield from _free_in(anyone, where)
    elif len(tainted) == 1:
        yield from _free_in(tainted[0], f" on {counted(tainted[0].available, 'tainted node')}")
    else:
        yield "every node that accepts new pods is tainted" if tainted else "no node accepts new pods"


def _free_in(group: NodeSetData, where: str) -> Iterator[str]:
    totals = [total for total in group.resources.values() if total.resource in (CPU, MEMORY)]
    if not totals:
        yield f"no allocatable cpu or memory{where}"
        return
    amounts = [
        f"{readable(each.resource, each.free)} of {readable(each.resource, each.allocatable)} {each.resource}"
        for each in totals
    ]
    yield f"free{where}: {listed(amounts)}"
    yield _blocks([total for total in totals if total.largest_free_node])


def _blocks(totals: Sequence[ResourceTotalData]) -> str:
    by_node: dict[str, list[str]] = {}
    for each in totals:
        amount = f"{readable(each.resource, each.largest_free)} {each.resource}"
        by_node.setdefault(each.largest_free_node, []).append(amount)
    blocks = [f"{listed(amounts)} on {node}" for node, amounts in by_node.items()]
    return f"largest free block: {listed(blocks)}" if blocks else "nothing is free"
