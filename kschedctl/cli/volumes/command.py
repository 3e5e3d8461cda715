"""``kschedctl volumes``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.pods import ScopeOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.report.render.form import Reply


@command
def volumes(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM|POD",
            autocompletion=completion.claims,
            rich_help_panel=ScopeOptions.title,
            help="NAMESPACE/NAME, pvc/NAME, pod/NAME or NAME in the snapshot, a manifest, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    scope: ScopeOptions,
    cluster: ClusterOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Reply:
    """Say which volume a claim has or would get, why no other, and from which nodes it can be used.

    Of a pod all claims are looked at together: where they leave it room. Without an argument all claims are listed: of
    namespace default, of -n, or with -A of all; with -l those with these labels.

    The exit code is 1 where a claim can have no volume, or a pod's claims leave it no node.
    """
    chosen = cluster.chosen(what_ifs)

    from kschedctl.cli.volumes.run import VolumesReply
    from kschedctl.cli.volumes.subjects import SubjectSelection

    return VolumesReply(SubjectSelection(tuple(names or ()), scope, chosen))
