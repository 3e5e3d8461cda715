"""Questions about nodes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answer import Answer
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.nodes.analysis import BY_NAME, BY_TAINTS, NodesRequest, describe_node, nodes_overview
from kschedctl.web.errors import not_found
from kschedctl.web.questions.asked import Asked, Query


class NodesQuery(Query, frozen=True, kw_only=True):
    """The selection and the grouping of nodes."""

    selector: Annotated[str, Meta(description="All nodes with matching labels, such as pool=general.")] = ""
    by: Annotated[str, Meta(description="Groups: taints, zone, type, pool, or the key of a label.")] = BY_TAINTS
    sort_by: Annotated[str, Meta(description="Order: name, or the largest requested share of a resource.")] = BY_NAME


class NodeQuery(Query, frozen=True, kw_only=True):
    """The name of a node."""

    name: Annotated[str, Meta(description="The name of the node.")]


def list_nodes(cluster: SchedulingCluster, asked: Asked[NodesQuery], handle: AnalysisHandle) -> Answer:
    """Show the free and allocatable capacity of nodes, one by one and in groups."""
    query = asked.query
    request = NodesRequest(selector=query.selector, by=query.by, sort_by=query.sort_by)
    return nodes_overview(asked.over(cluster, handle), request, handle)


def show_node(cluster: SchedulingCluster, asked: Asked[NodeQuery], handle: AnalysisHandle) -> Answer:
    """Show the capacity of a node, the workloads on it, its conditions and taints."""
    changed = asked.over(cluster, handle)
    with not_found():
        return describe_node(changed, asked.query.name)
