"""``kschedctl capacity``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.report.render.form import Reply


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
) -> Reply:
    """Count how many copies of a pod or of a workload's pods more fit, say where they go and what stops the next one.

    The copies are placed one after another, each beside those before it; nobody is evicted for them. Several pods are
    answered for each by itself. Without a POD and -f, the pending pods are meant.

    The exit code is 0 where at least one more fits of each, and 1 where not.
    """
    chosen = cluster.chosen(what_ifs, admission=not which.no_admission)

    from kschedctl.cli.capacity.run import CapacityReply
    from kschedctl.cli.selection import PodSelection

    return CapacityReply(PodSelection(which, chosen), most)
