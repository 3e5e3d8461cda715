"""``kschedctl drain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown

_NODES = "Which nodes"
_DRAIN = "How they are drained"


@command
def drain(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NODE",
            autocompletion=completion.nodes,
            rich_help_panel=_NODES,
            help="Nodes by name, or by a pattern such as 'node-*'.",
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
            help="All with these labels, such as pool=old.",
            show_default=False,
        ),
    ] = "",
    zone: Annotated[
        str,
        typer.Option(
            "--zone",
            metavar="ZONE",
            rich_help_panel=_NODES,
            help="All of this zone.",
            show_default=False,
            autocompletion=completion.zones,
        ),
    ] = "",
    ignore_daemonsets: Annotated[
        bool,
        typer.Option("--ignore-daemonsets", rich_help_panel=_DRAIN, help="Let the pods of DaemonSets stay."),
    ] = False,
    delete_emptydir_data: Annotated[
        bool,
        typer.Option("--delete-emptydir-data", rich_help_panel=_DRAIN, help="Evict pods that have an emptyDir, too."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", rich_help_panel=_DRAIN, help="Evict pods without a controller, too: they are lost."),
    ] = False,
    disable_eviction: Annotated[
        bool,
        typer.Option(
            "--disable-eviction", rich_help_panel=_DRAIN, help="Delete pods, whatever disruption budgets say."
        ),
    ] = False,
    rolling: Annotated[
        bool,
        typer.Option(
            "--rolling",
            rich_help_panel=_DRAIN,
            help="One node after another as an upgrade does it: each is back before the next one goes.",
        ),
    ] = False,
    surge: Annotated[
        int,
        typer.Option(
            "--surge",
            metavar="N",
            min=0,
            rich_help_panel=_DRAIN,
            help="Add so many nodes first, like the first of those that are drained.",
            show_default=False,
        ),
    ] = 0,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Draw among equal nodes, as kube-scheduler does. Default: the first by name.",
            show_default=False,
        ),
    ] = None,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Shown:
    """Drain nodes as kubectl drain does: what stands in the way, where each pod would go, who would find no node.

    The nodes are cordoned and their pods evicted; where a disruption budget allows no more, the drain waits until their
    replacements run elsewhere. The flags are those of kubectl drain and mean the same. Nothing happens to any cluster.

    The exit code is 0 where all nodes can be drained and all pods that move find a node, and 1 where not.
    """
    if not (names or selector or zone):
        raise typer.BadParameter("name nodes, or use --selector or --zone", param_hint="NODE")
    request = cluster.request(what_ifs)

    from kschedctl.analyses.drain import DrainRequest, drain
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown
    from kschedctl.simulate.drain import DrainOptions

    handle = TerminalHandle()
    options = DrainOptions(
        ignore_daemon_sets=ignore_daemonsets,
        force=force,
        delete_empty_dir_data=delete_emptydir_data,
        disable_eviction=disable_eviction,
        rolling=rolling,
    )
    asked = DrainRequest(
        nodes=tuple(names or ()), selector=selector, zone=zone, options=options, surge=surge, seed=seed
    )
    return Shown(answer=drain(request.load_with_pods(handle), asked, handle))
