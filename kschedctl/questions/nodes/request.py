"""The question of ``nodes``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from kschedctl.common.options import Example, Option
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.questions.nodes.answer import NodeDescription, NodesOverview
    from kschedctl.trials.loaded_cluster import LoadedCluster

_NODES = "Nodes"
#: The order by name, besides that by a resource.
BY_NAME = "name"
#: The default grouping: nodes that accept the same pods.
BY_TAINTS = "taints"


@dataclass(frozen=True, kw_only=True)
class NodesGrouping(AnalysisRequest["NodesOverview | NodeDescription"]):
    """The selection of nodes by labels, their groups and their order."""

    selector: Annotated[
        str,
        Option(
            "--selector",
            "SELECTOR",
            "All nodes with matching labels, such as pool=general.",
            short="-l",
            heading=_NODES,
        ),
    ] = ""
    by: Annotated[
        str,
        Option(
            "--by",
            "taints|zone|type|pool|LABEL",
            "Sum the capacity by zone, instance type, pool or the values of a label, instead of by taints.",
            heading=_NODES,
        ),
    ] = BY_TAINTS
    sort_by: Annotated[
        str,
        Option(
            "--sort-by",
            "name|RESOURCE",
            "Order of the nodes: by name, or the largest requested share of a resource such as cpu first.",
            heading=_NODES,
        ),
    ] = BY_NAME


@dataclass(frozen=True)
class NodesRequest(NodesGrouping):
    """Show the free and allocatable capacity of nodes, the largest free block of each resource, and what uses the rest.

    Requests are counted as kube-scheduler counts them; those of pods that are nominated to a node are shown separately.
    Cordoned and unhealthy nodes accept no new pods, so sums leave them out. With the name of one node, the answer is
    its capacity, the workloads on it, its taints and conditions.

    Raises
    ------
    InputError
        If no node is selected, or no node has the property or the resource.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/shop/cluster")
    >>> overview = cluster.nodes(by="pool")
    >>> [(group.name, group.available, group.resources["cpu"].largest_free) for group in overview.groups]
    [('general', 8, '2020m'), ('gpu', 6, '47610m')]
    >>> cluster.nodes("node-8").summary
    'node-8 is ready; free: 2.02 of 3.92 cpu and 10.88Gi of 14Gi memory.'

    Command
    -------
    The exit code is 1 if a node is unhealthy: it is not ready, or has a taint that stands for a problem.
    """

    decides: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Show the free capacity of all nodes, the fullest first:", "nodes --sort-by cpu"),
        Example("Show the free capacity of each zone, as JSON:", "nodes --by zone -o json"),
    )

    nodes: Annotated[
        Sequence[str],
        Option(
            "",
            "NODE",
            "Nodes by name, or by a pattern such as 'node-*'; a single name describes this node. Default: all.",
            heading=_NODES,
            completion="nodes",
        ),
    ] = ()

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "NodesOverview | NodeDescription":
        from kschedctl.questions.nodes.analysis import nodes

        return nodes(cluster, self, handle)
