"""``kschedctl nodes``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import ClusterWhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult

_NODES = "Nodes"


@command
def nodes(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NODE",
            autocompletion=completion.nodes,
            rich_help_panel=_NODES,
            help="Nodes by name, or by a pattern such as 'node-*'; a single name describes this node. Default: all.",
            show_default=False,
        ),
    ] = None,
    selector: Annotated[
        str,
        typer.Option(
            "--selector",
            "-l",
            metavar="SELECTOR",
            rich_help_panel=_NODES,
            help="All nodes with matching labels, such as pool=general.",
            show_default=False,
        ),
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="taints|zone|type|pool|LABEL",
            rich_help_panel=_NODES,
            help="Sum the capacity by zone, instance type, pool or the values of a label, instead of by taints.",
            show_default=False,
        ),
    ] = "",
    sort_by: Annotated[
        str,
        typer.Option(
            "--sort-by",
            metavar="name|RESOURCE",
            rich_help_panel=_NODES,
            help="Order of the nodes: by name, or the largest requested share of a resource such as cpu first.",
            show_default=False,
        ),
    ] = "",
    cluster: ClusterOptions,
    what_ifs: ClusterWhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    """Show the free and allocatable capacity of nodes, the largest free block of each resource, and what uses the rest.

    Requests are counted as kube-scheduler counts them; those of pods that are nominated to a node are shown separately.
    Cordoned and unhealthy nodes accept no new pods, so sums leave them out. With the name of one node, the answer is
    its capacity, the workloads on it, its taints and conditions.

    The exit code is 1 if a node is unhealthy: it is not ready, or has a taint that stands for a problem.
    """
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.nodes.analysis import BY_NAME, BY_TAINTS, NodesRequest, nodes

    handle = TerminalHandle()
    request = NodesRequest(names=tuple(names or ()), selector=selector, by=by or BY_TAINTS, sort_by=sort_by or BY_NAME)
    return CommandResult(answer=nodes(cluster.request(what_ifs).load_with_pods(handle), request, handle))
