"""``kschedctl pending``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.shared import AllNamespacesOption, namespace_option
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown


@command
def pending(
    *,
    namespace: Annotated[str, namespace_option("Only pods of this namespace; of all without it.")] = "",
    all_namespaces: AllNamespacesOption = False,
    selector: Annotated[
        str,
        typer.Option("--selector", "-l", metavar="SELECTOR", help="Only pods with these labels.", show_default=False),
    ] = "",
    changes: Annotated[
        int,
        typer.Option("--changes", metavar="N", min=0, max=20, help="Look for so many changes that would place them."),
    ] = 3,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Shown:
    """Show the pods that wait, by cause, how long they do, and the few changes that would place most of them.

    Each change is made and tried in a simulation of the whole queue, in which the pods that wait take each other's
    room and nobody is evicted. With -o wide all groups are shown and how to make the changes.

    The exit code is 0 where no pod waits that could not be placed as things are, and 1 where one does.
    """
    from kschedctl.analyses.pending import PendingRequest, pending
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown

    handle = TerminalHandle()
    loaded = cluster.request(what_ifs).load_with_pods(handle)
    request = PendingRequest(namespace="" if all_namespaces else namespace, selector=selector, changes=changes)
    return Shown(answer=pending(loaded, request, handle))
