"""``kschedctl devices``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.completion import device_subjects
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.shared import namespace_option
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.report.render.form import Reply


@command
def devices(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM|CLASS",
            help="NAMESPACE/NAME, claim/NAME or NAME of a ResourceClaim; class/NAME or NAME of a DeviceClass.",
            show_default=False,
            autocompletion=device_subjects,
        ),
    ] = None,
    namespace: Annotated[str, namespace_option("The namespace of claims. Default: as for kubectl.")] = "",
    cluster: ClusterOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Reply:
    """Say which devices there are, who holds them, and where a claim or a device of a class could be allocated.

    Without an argument all pools are listed, and what is wrong with them. With one: the nodes that have the devices,
    and of the others how many devices are there, match, and are free.

    The exit code is 1 where a claim can be allocated on no node, or the devices of a pool are not used.
    """
    chosen = cluster.chosen(what_ifs)

    from kschedctl.cli.devices.run import DevicesReply

    return DevicesReply(tuple(names or ()), namespace, chosen)
