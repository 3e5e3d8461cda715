"""Lists of workloads, and the description of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import MAKERS, SCALABLE, wanted_replicas, workload_of
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.analyses.inventory.budgets import selected_by
from kschedctl.questions.analyses.inventory.pods import MOST, pod_items
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.answers.inventory import WorkloadDescription, WorkloadItem, WorkloadsOverview
from kschedctl.scheduler.volumes.claims import claim_uses
from kschedctl.trials.completeness import Missing, every_unlisted, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

#: Kind, namespace and name.
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadsRequest:
    """A question about workloads.

    Attributes
    ----------
    namespace : str
        The namespace; empty for all.
    text : str
        A text that the names contain; empty for all.
    most : int
        The number of workloads to return.
    """

    namespace: str = ""
    text: str = ""
    most: int = MOST


def list_workloads(cluster: LoadedCluster, request: WorkloadsRequest) -> WorkloadsOverview:
    """List workloads, those with most pending pods first."""
    pods = pods_by_workload(cluster.cluster)
    items = [
        _item(cluster.cluster, key, own)
        for key, own in pods.items()
        if request.namespace in ("", key[1]) and request.text in key[2]
    ]
    items.sort(key=lambda item: (-item.pending, item.namespace, item.name, item.kind))
    pending = sum(bool(item.pending) for item in items)
    return WorkloadsOverview(
        **envelope(cluster.cluster, provenance(cluster, _missing(cluster.cluster))),
        summary=f"{counted(len(items), 'workload')}, {pending} of them with pending pods",
        total=len(items),
        workloads=tuple(items[: request.most]),
    )


def describe_workload(
    cluster: LoadedCluster, kind: str, namespace: str, name: str, most: int = MOST
) -> WorkloadDescription:
    """Describe a workload and its pods.

    Raises
    ------
    InputError
        If there is no such workload.
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
        **envelope(loaded, provenance(cluster, _missing(loaded))),
        summary=f"{item.ref}: {item.on_nodes}{wanted} on {counted(item.nodes, 'node')}, {item.pending} pending",
        workload=item,
        budgets=tuple(f"{each.namespace}/{each.name}" for each in budgets if own & set(selected_by(loaded, each))),
        claims=tuple(f"{namespace}/{claim}" for claim in sorted(claims)),
        total=len(pods),
        pods=pod_items(loaded, pods, most),
    )


def _missing(cluster: Cluster) -> Iterable[Missing]:
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
