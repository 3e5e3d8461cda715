"""Lists of pods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kschedctl.analyses.provenance import envelope, provenance
from kschedctl.answers.inventory import PodItem, PodsOverview
from kschedctl.api.label_query import parse_label_query
from kschedctl.api.meta import ObjectMeta
from kschedctl.api.selectors import matches
from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.completeness.missing import every_unlisted, require_listed
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.workloads.ownership import workload_of

#: The number of objects of a list, unless the request sets another one.
MOST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsRequest:
    """A question about pods.

    Attributes
    ----------
    namespace : str
        The namespace; empty for all.
    selector : str
        A label selector; empty for all pods.
    node : str
        The node that the pods are bound to; empty for all.
    pending : bool
        True for pending pods only.
    text : str
        A text that the names contain; empty for all.
    most : int
        The number of pods to return.
    """

    namespace: str = ""
    selector: str = ""
    node: str = ""
    pending: bool = False
    text: str = ""
    most: int = MOST


def list_pods(cluster: LoadedCluster, request: PodsRequest) -> PodsOverview:
    """List pods, the pending ones first.

    Raises
    ------
    InputError
        If the selector is invalid.
    ClusterError
        If the pods could not be listed.
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
        and (query is None or matches(query, record.metadata.labels))
    ]
    n_pending = sum(bool(pods.node_row[index] == PENDING) for index in found)
    return PodsOverview(
        **envelope(cluster.cluster, provenance(cluster, every_unlisted(cluster.cluster, ("Pod",)))),
        summary=f"{counted(len(found), 'pod')}, {n_pending} of them pending",
        total=len(found),
        pods=pod_items(cluster.cluster, found, request.most),
    )


def pod_items(cluster: Cluster, indices: Iterable[int], most: int) -> tuple[PodItem, ...]:
    """Return pods as items of a list, pending ones first, then by name.

    Parameters
    ----------
    indices : iterable of int
        Indices into ``Cluster.pods``.
    most : int
        The number of pods to return.
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
