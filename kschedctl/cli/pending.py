"""``kschedctl pending``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.shared import AllNamespacesOption, OutputOptions, namespace_option
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def pending(
    *,
    namespace: Annotated[str, namespace_option("Show pods of this namespace only. Default: all namespaces.")] = "",
    all_namespaces: AllNamespacesOption = False,
    selector: Annotated[
        str,
        typer.Option(
            "--selector", "-l", metavar="SELECTOR", help="Show pods with matching labels only.", show_default=False
        ),
    ] = "",
    changes: Annotated[
        int,
        typer.Option(
            "--changes",
            metavar="N",
            min=0,
            max=20,
            help="Search for up to N changes with which pods would be scheduled.",
        ),
    ] = 3,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    """List pending pods by cause and age, and the fewest changes that would schedule most of them.

    Each change is made and tried in a simulation of the whole scheduling queue, in which the pending pods compete for
    free capacity and no pod is evicted. With -o wide, all groups are shown, and the commands that make the changes.
    docs/scheduling.md explains why pods stay pending.

    Workloads that have fewer pods than they want, and pods that do not start, are listed too. The pods of a gang are
    one group, and changes are tried for the whole gang.

    The exit code is 0 if there are none, and every pending pod could be scheduled without a change; otherwise it is 1.
    """
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.pending.analysis import PendingRequest, pending

    handle = TerminalHandle()
    loaded = cluster.request(what_ifs).load_with_pods(handle)
    request = PendingRequest(namespace="" if all_namespaces else namespace, selector=selector, changes=changes)
    return CommandResult(answer=pending(loaded, request, handle), cluster=loaded)
