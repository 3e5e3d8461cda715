"""Questions about the objects of the cluster: its size, lists of objects, and search."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from kschedctl.questions.answer import Answer
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.analysis import (
    MOST_FOUND,
    PodsRequest,
    WorkloadsRequest,
    cluster_summary,
    describe_budget,
    describe_workload,
    list_budgets,
    list_pods,
    list_workloads,
    search,
)
from kschedctl.web.errors import not_found
from kschedctl.web.questions.asked import Asked, Name, Namespace, NoParameters, ObjectQuery, Query

_MOST: Final = 5000
_OnlyNamespace = Annotated[str, Meta(description="The namespace; all without it.")]
_Text = Annotated[str, Meta(description="A text that the names contain.", max_length=253)]
_Limit = Annotated[int, Meta(description="The number of objects to return.", ge=1, le=_MOST)]


class PodsQuery(Query, frozen=True, kw_only=True):
    """The selection of pods."""

    namespace: _OnlyNamespace = ""
    selector: Annotated[str, Meta(description="All pods with matching labels, such as app=web.")] = ""
    node: Annotated[str, Meta(description="The node that the pods are bound to.")] = ""
    pending: Annotated[bool, Meta(description="Pending pods only.")] = False
    q: _Text = ""
    limit: _Limit = 500


class ListQuery(Query, frozen=True, kw_only=True):
    """The selection of objects."""

    namespace: _OnlyNamespace = ""
    q: _Text = ""
    limit: _Limit = 500


class WorkloadQuery(Query, frozen=True, kw_only=True):
    """The name of a workload."""

    kind: Annotated[str, Meta(description="The kind of the workload, such as Deployment.")]
    namespace: Namespace
    name: Name
    limit: _Limit = 500


class SearchQuery(Query, frozen=True, kw_only=True):
    """The text to find."""

    q: Annotated[str, Meta(description="A part of the name, or of namespace/name.", max_length=253)]
    limit: _Limit = MOST_FOUND


def show_cluster(cluster: SchedulingCluster, asked: Asked[NoParameters], handle: AnalysisHandle) -> Answer:
    """Count the objects of the cluster."""
    return cluster_summary(asked.over(cluster, handle))


def show_pods(cluster: SchedulingCluster, asked: Asked[PodsQuery], handle: AnalysisHandle) -> Answer:
    """List pods, the pending ones first."""
    query = asked.query
    request = PodsRequest(
        namespace=query.namespace,
        selector=query.selector,
        node=query.node,
        pending=query.pending,
        text=query.q,
        most=query.limit,
    )
    return list_pods(asked.over(cluster, handle), request)


def show_workloads(cluster: SchedulingCluster, asked: Asked[ListQuery], handle: AnalysisHandle) -> Answer:
    """List workloads, those with most pending pods first."""
    query = asked.query
    request = WorkloadsRequest(namespace=query.namespace, text=query.q, most=query.limit)
    return list_workloads(asked.over(cluster, handle), request)


def show_workload(cluster: SchedulingCluster, asked: Asked[WorkloadQuery], handle: AnalysisHandle) -> Answer:
    """Describe a workload and its pods."""
    query = asked.query
    changed = asked.over(cluster, handle)
    with not_found():
        return describe_workload(changed, query.kind, query.namespace, query.name, query.limit)


def show_budgets(cluster: SchedulingCluster, asked: Asked[ListQuery], handle: AnalysisHandle) -> Answer:
    """List disruption budgets, those that allow no eviction first."""
    query = asked.query
    return list_budgets(asked.over(cluster, handle), query.namespace, query.q, query.limit)


def show_budget(cluster: SchedulingCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Describe a disruption budget and the pods that it selects."""
    changed = asked.over(cluster, handle)
    with not_found():
        return describe_budget(changed, asked.query.namespace, asked.query.name)


def find_objects(cluster: SchedulingCluster, asked: Asked[SearchQuery], handle: AnalysisHandle) -> Answer:
    """Find objects by a part of their names."""
    return search(asked.over(cluster, handle), asked.query.q, asked.query.limit)
