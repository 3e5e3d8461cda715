"""``kschedctl capacity``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown


@command
def capacity(
    *,
    which: PodOptions,
    most: Annotated[
        int | None,
        typer.Option("--max", metavar="N", min=1, help="Look for so many at the most.", show_default=False),
    ] = None,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Shown:
    """Count how many copies of a pod or of a workload's pods more fit, say where they go and what stops the next one.

    The copies are placed one after another, each beside those before it; nobody is evicted for them. Several pods are
    answered for each by itself. Without a POD and -f, the pending pods are meant.

    The exit code is 0 where at least one more fits of each, and 1 where not.
    """
    request = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from kschedctl.analyses.capacity import CapacityRequest, capacity
    from kschedctl.answers.capacity import CapacityList
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import shown_list

    handle = TerminalHandle()
    loaded, pods = request.load(handle)
    answers = capacity(loaded, CapacityRequest(pods=tuple(pods), most=most), handle)
    return shown_list(CapacityList(items=answers), pods, named=request.named)
