"""Lists of pods."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import InputError
from kschedctl.common.frames import Cell, ColumnType, Table
from kschedctl.common.wording import counted, counted_with
from kschedctl.controllers.disruption import BudgetedPods, is_computed, limit_of
from kschedctl.controllers.workloads.ownership import MAKERS, SCALABLE, wanted_replicas, workload_of
from kschedctl.objects.coordination import Lease, LeaseCandidate
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.resources import PODS, RequestRules
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.answer import unit_name
from kschedctl.questions.inventory.answer import (
    BudgetDescription,
    BudgetItem,
    BudgetsOverview,
    ClusterSummary,
    PodItem,
    PodsOverview,
    SearchItem,
    SearchResults,
    WorkloadDescription,
    WorkloadItem,
    WorkloadsOverview,
)
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.scheduler.volumes.claims import claim_uses
from kschedctl.trials.completeness import Missing, every_unlisted, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import known_namespaces

#: The number of objects of a list, unless the request sets another one.
MOST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsRequest:
    """A question about pods."""

    #: The namespace; empty for all.
    namespace: str = ""
    #: A label selector; empty for all pods.
    selector: str = ""
    #: The node that the pods are bound to; empty for all.
    node: str = ""
    #: True for pending pods only.
    pending: bool = False
    #: The workload that owns the pods: ``Deployment shop/web``, ``shop/web`` or ``web``; empty for all.
    workload: str = ""
    #: A text that the names contain; empty for all.
    text: str = ""
    most: int = MOST


def list_pods(cluster: LoadedCluster, request: PodsRequest) -> PodsOverview:
    """List pods, the pending ones first.

    Raises InputError if the selector is invalid.
    Raises ClusterError if the pods could not be listed.
    """
    require_listed(cluster.cluster, "Pod")
    query = parse_label_query(request.selector) if request.selector else None
    pods = cluster.pods
    found = [
        index
        for index, record in enumerate(pods.records)
        if (not request.namespace or record.metadata.namespace == request.namespace)
        and (not request.node or record.node_name == request.node)
        and (not request.pending or pods.node_row[index] == PENDING)
        and request.text in record.metadata.name
        and (not request.workload or _belongs_to(cluster.cluster, record.metadata, request.workload))
        and (query is None or matches(query, record.metadata.labels))
    ]
    n_pending = sum(bool(pods.node_row[index] == PENDING) for index in found)
    return PodsOverview(
        **envelope(cluster.cluster, provenance(cluster, every_unlisted(cluster.cluster, ("Pod",)))),
        summary=counted_with(len(found), "pod", n_pending, "pending"),
        total=len(found),
        pods=pod_items(cluster.cluster, found, request.most),
    )


def pod_items(cluster: Cluster, indices: Iterable[int], most: int) -> tuple[PodItem, ...]:
    """Return pods as items of a list, pending ones first, then by name.

    Args:
        indices: Indices into ``Cluster.pods``.
    """
    records = tuple(cluster.pods.records)
    first = sorted(indices, key=lambda index: (bool(records[index].node_name), records[index].name))[:most]
    return tuple(
        PodItem(
            record.metadata.namespace,
            record.metadata.name,
            record.node_name,
            record.status.nominated_node_name if not record.node_name else "",
            record.metadata.deletion_timestamp is not None,
            owner_of(cluster, record.metadata),
        )
        for record in (records[index] for index in first)
    )


def owner_of(cluster: Cluster, pod: ObjectMeta) -> str:
    """Return the workload of a pod, such as ``Deployment shop/web``; empty without a controller."""
    kind, namespace, name = workload_of(cluster, pod)
    return f"{kind} {namespace}/{name}" if pod.controller is not None else ""


def is_named(key: tuple[str, str, str], text: str) -> bool:
    """Report whether a text names a workload: by kind, namespace and name, or without kind, or by name alone.

    >>> [is_named(("Deployment", "shop", "web"), text) for text in ("Deployment shop/web", "shop/web", "web", "we")]
    [True, True, True, False]
    """
    kind, namespace, name = key
    return text in (f"{kind} {namespace}/{name}", f"{namespace}/{name}", name)


def _belongs_to(cluster: Cluster, pod: ObjectMeta, workload: str) -> bool:
    return pod.controller is not None and is_named(workload_of(cluster, pod), workload)


# Lists of disruption budgets, and the description of one.


def list_budgets(cluster: LoadedCluster, namespace: str = "", text: str = "", most: int = MOST) -> BudgetsOverview:
    """List disruption budgets, those that allow no eviction first.

    Args:
        namespace: The namespace; empty for all.
        text: A text that the names contain; empty for all.

    Raises ClusterError if the budgets could not be listed.
    """
    loaded = cluster.cluster
    require_listed(loaded, "PodDisruptionBudget")
    found = [
        _budgets_item(loaded, each)
        for each in loaded.list(PodDisruptionBudget)
        if namespace in ("", each.namespace) and text in each.name
    ]
    found.sort(key=lambda item: (not _blocks(item), item.namespace, item.name))
    blocking = sum(map(_blocks, found))
    return BudgetsOverview(
        **envelope(loaded, provenance(cluster, every_unlisted(loaded, ("PodDisruptionBudget", "Pod")), evicts=True)),
        summary=counted_with(
            len(found), "disruption budget", blocking, "allows no eviction now", "allow no eviction now"
        ),
        total=len(found),
        budgets=tuple(found[:most]),
    )


def describe_budget(cluster: LoadedCluster, namespace: str, name: str, most: int = MOST) -> BudgetDescription:
    """Describe a disruption budget and the pods that it selects.

    Raises InputError if there is no such budget.
    Raises ClusterError if the budgets could not be listed.
    """
    loaded = cluster.cluster
    require_listed(loaded, "PodDisruptionBudget", namespace)
    budget = loaded.get(PodDisruptionBudget, name, namespace)
    if budget is None:
        raise InputError(f"the cluster has no PodDisruptionBudget {namespace}/{name}")
    item = _budgets_item(loaded, budget)
    pods = selected_by(loaded, budget)
    healthy = f"{item.healthy} of {counted(item.selected, 'pod')} healthy"
    summary = f"{item.key} allows {counted(item.allowed, 'eviction')} now: {healthy}"
    return BudgetDescription(
        **envelope(loaded, provenance(cluster, evicts=True)),
        summary=f"{summary}, {item.desired} must be",
        budget=item,
        total=len(pods),
        pods=pod_items(loaded, pods, most),
    )


def selected_by(cluster: Cluster, budget: PodDisruptionBudget) -> list[int]:
    """Return the pods that a budget selects, as indices into ``Cluster.pods``."""
    index = cluster.pods.index
    return [index[pod.metadata.namespace, pod.metadata.name] for pod in BudgetedPods(cluster, budget).selected]


def _budgets_item(cluster: Cluster, budget: PodDisruptionBudget) -> BudgetItem:
    status, limit, pods = budget.status, limit_of(budget), BudgetedPods(cluster, budget)
    return BudgetItem(
        budget.namespace,
        budget.name,
        f"{limit[0]} {limit[1]}" if limit is not None else "",
        status.disruptions_allowed or 0,
        status.current_healthy,
        status.desired_healthy,
        status.expected_pods,
        len(pods.selected),
        is_computed(budget),
        pods.uncounted if not status.disruptions_allowed and pods.selected else "",
    )


def _blocks(item: BudgetItem) -> bool:
    return item.allowed == 0 and item.selected > 0


# Lists of workloads, and the description of one.

#: Kind, namespace and name.
_Key = tuple[str, str, str]


def list_workloads(cluster: LoadedCluster, namespace: str = "", text: str = "", most: int = MOST) -> WorkloadsOverview:
    """List workloads, those with most pending pods first.

    Args:
        namespace: The namespace; empty for all.
        text: A text that the names contain; empty for all.
    """
    pods = pods_by_workload(cluster.cluster)
    items = [
        _item(cluster.cluster, key, own) for key, own in pods.items() if namespace in ("", key[1]) and text in key[2]
    ]
    items.sort(key=lambda item: (-item.pending, item.namespace, item.name, item.kind))
    pending = sum(bool(item.pending) for item in items)
    return WorkloadsOverview(
        **envelope(cluster.cluster, provenance(cluster, _workloads_missing(cluster.cluster))),
        summary=counted_with(len(items), "workload", pending, "has pending pods", "have pending pods"),
        total=len(items),
        workloads=tuple(items[:most]),
    )


def describe_workload(
    cluster: LoadedCluster, kind: str, namespace: str, name: str, most: int = MOST
) -> WorkloadDescription:
    """Describe a workload and its pods.

    Raises InputError if there is no such workload.
    """
    loaded = cluster.cluster
    key = kind, namespace, name
    pods = pods_by_workload(loaded).get(key)
    if pods is None:
        require_listed(loaded, kind, namespace)
        raise InputError(f"the cluster has no {kind} {namespace}/{name}")
    item = _item(loaded, key, pods)
    wanted = f" of {item.wanted}" if item.wanted is not None else ""
    own = set(pods)
    budgets = (each for each in loaded.list(PodDisruptionBudget) if each.namespace == namespace)
    claims = {use.claim for index in pods for use in claim_uses(loaded.pods.pod(index))}
    return WorkloadDescription(
        **envelope(loaded, provenance(cluster, _workloads_missing(loaded))),
        summary=f"{item.ref}: {item.on_nodes}{wanted} on {counted(item.nodes, 'node')}, {item.pending} pending",
        workload=item,
        budgets=tuple(f"{each.namespace}/{each.name}" for each in budgets if own & set(selected_by(loaded, each))),
        claims=tuple(f"{namespace}/{claim}" for claim in sorted(claims)),
        total=len(pods),
        pods=pod_items(loaded, pods, most),
    )


def _workloads_missing(cluster: Cluster) -> Iterable[Missing]:
    kinds = ("Pod", *(kind.__name__ for kind in MAKERS))
    return every_unlisted(cluster, kinds, "workloads without pods are not in the list, and missing pods not counted")


def pods_by_workload(cluster: Cluster) -> dict[_Key, list[int]]:
    """Return the pods of each workload that the cluster has, or has pods of, as indices into ``Cluster.pods``."""
    found: dict[_Key, list[int]] = defaultdict(list)
    known: dict[tuple[str, str, str, str], _Key] = {}
    for index, record in enumerate(cluster.pods.records):
        owner = record.metadata.controller
        if owner is None:
            continue
        # Pods of one owner belong to one workload.
        of = owner.api_version, owner.kind, record.metadata.namespace, owner.name
        key = known.get(of)
        if key is None:
            key = known[of] = workload_of(cluster, record.metadata)
        found[key].append(index)
    for kind in MAKERS:
        for obj in cluster.list(kind):
            if obj.metadata.controller is None:
                found.setdefault((kind.__name__, obj.namespace, obj.name), [])
    return dict(found)


def _item(cluster: Cluster, key: _Key, pods: list[int]) -> WorkloadItem:
    kind, namespace, name = key
    obj = next((cluster.get(each, name, namespace) for each in SCALABLE if each.__name__ == kind), None)
    nodes = [cluster.pods.records[index].node_name for index in pods]
    on_nodes = sum(map(bool, nodes))
    return WorkloadItem(
        kind,
        namespace,
        name,
        wanted_replicas(obj) if isinstance(obj, SCALABLE) else None,
        on_nodes,
        len(pods) - on_nodes,
        len(set(filter(None, nodes))),
    )


# The size of a cluster.


def cluster_summary(cluster: LoadedCluster) -> ClusterSummary:
    """Count the objects of a cluster."""
    loaded = cluster.cluster
    pending = int(np.count_nonzero(cluster.pods.node_row == PENDING))
    namespaces = known_namespaces(loaded)
    kinds = {"Node": len(cluster.nodes), "Pod": len(cluster.pods)}
    kinds |= {kind.__name__: len(list(loaded.list(kind))) for kind in loaded.kinds}
    size = f"{counted(len(cluster.nodes), 'node')}, {counted_with(len(cluster.pods), 'pod', pending, 'pending')}"
    return ClusterSummary(
        **envelope(loaded, provenance(cluster, every_unlisted(loaded, loaded.not_listed, "they are not counted"))),
        summary=size,
        nodes=len(cluster.nodes),
        pods=len(cluster.pods),
        pending=pending,
        namespaces=tuple(sorted(namespaces)),
        kinds={kind: number for kind, number in sorted(kinds.items()) if number},
    )


# Search for objects by a part of their names.

#: The number of objects that a search returns.
MOST_FOUND: Final = 50
#: The kinds in the order in which equally good matches are shown; workloads come before their pods.
_FIRST: Final = ("Node", "Workload", "Pod", "PersistentVolumeClaim", "PodDisruptionBudget")


def search(cluster: LoadedCluster, text: str, most: int = MOST_FOUND) -> SearchResults:
    """Find objects whose names contain a text, in any case; ``namespace/name`` finds parts of both.

    Args:
        text: The text; an empty one finds nothing.
    """
    wanted = text.strip().lower()
    found = [(rank, item) for item in _items(cluster.cluster) if (rank := _rank(item, wanted)) is not None]
    best = nsmallest(most, found, key=lambda each: (each[0], each[1].namespace, each[1].name, each[1].kind))
    missing = every_unlisted(cluster.cluster, cluster.cluster.not_listed, "they are not found")
    return SearchResults(
        **envelope(cluster.cluster, provenance(cluster, missing)),
        summary=f'{counted(len(found), "object")} with "{text.strip()}" in the name' if wanted else "nothing to find",
        total=len(found),
        items=tuple(item for _, item in best),
    )


def _items(cluster: Cluster) -> Iterator[SearchItem]:
    for node in cluster.nodes.objects:
        yield SearchItem("Node", "", node.name)
    for kind, namespace, name in pods_by_workload(cluster):
        yield SearchItem(kind, namespace, name)
    for namespace, name in cluster.pods.index:
        yield SearchItem("Pod", namespace, name)
    for type_ in cluster.kinds:
        # Workloads are found with their pods; Leases are mostly heartbeats of nodes.
        if type_ not in MAKERS and type_ not in (Lease, LeaseCandidate):
            for obj in cluster.list(type_):
                yield SearchItem(type_.__name__, obj.namespace, obj.name)


def _rank(item: SearchItem, text: str) -> tuple[int, int] | None:
    """Return the rank of an object, the best is the lowest; ``None`` if it does not match."""
    name = item.name.lower()
    whole = f"{item.namespace.lower()}/{name}"
    if not text or text not in (whole if "/" in text else name):
        return None
    match = 0 if text in (name, whole) else 1 if name.startswith(text) or whole.startswith(text) else 2
    kind = item.kind if item.kind in _FIRST else "Workload" if item.kind in _WORKLOADS else ""
    return match, _FIRST.index(kind) if kind else len(_FIRST)


_WORKLOADS: Final = frozenset(kind.__name__ for kind in MAKERS)


# The unfinished pods of a cluster as a table: where they run, what they belong to, and what they request.

_COLUMNS: Final[dict[str, ColumnType]] = {
    "namespace": str,
    "name": str,
    "workload_kind": str,
    "workload": str,
    "node": str,
    "nominated_node": str,
    "phase": str,
    "priority": int,
    "scheduler": str,
    "created": datetime,
    "started": datetime,
    "terminating": bool,
}


def pods_table(cluster: LoadedCluster) -> Table:
    """Return the unfinished pods of a cluster, one row per pod in the order of the snapshot.

    The requests are those that the scheduler counts, in milli-CPU, bytes and counts, one column for each resource that
    a pod requests.
    """
    resources = cluster.cluster.resources(RequestRules.of(cluster.release_choice.release))
    class_id = cluster.pods.class_id
    requested = {
        name: resources.per_class[i, class_id]
        for i, name in enumerate(resources.names)
        if name != PODS and np.any(resources.per_class[i, class_id])
    }
    types = _COLUMNS | dict.fromkeys((f"requested.{unit_name(name)}" for name in requested), int)
    amounts = zip(*(column.tolist() for column in requested.values()), strict=True) if requested else None
    rows: list[tuple[Cell, ...]] = []
    for record in cluster.pods.records:
        metadata, status = record.metadata, record.status
        kind, _, workload = workload_of(cluster.cluster, metadata)
        cells = (
            metadata.namespace,
            metadata.name,
            kind,
            workload,
            record.node_name,
            status.nominated_node_name,
            status.phase,
            record.priority,
            record.spec.scheduler_name,
            metadata.creation_timestamp,
            status.start_time,
            metadata.deletion_timestamp is not None,
        )
        rows.append((*cells, *(next(amounts) if amounts is not None else ())))
    return Table(types, rows)
