"""``kschedctl drain``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.shared import EveryNamespaceOption, OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult

_NODES = "Nodes"
_DRAIN = "Eviction"


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
            help="All nodes with matching labels, such as pool=old.",
            show_default=False,
        ),
    ] = "",
    zone: Annotated[
        str,
        typer.Option(
            "--zone",
            metavar="ZONE",
            rich_help_panel=_NODES,
            help="All nodes in this zone.",
            show_default=False,
            autocompletion=completion.zones,
        ),
    ] = "",
    all_namespaces: EveryNamespaceOption = False,
    ignore_daemonsets: Annotated[
        bool,
        typer.Option(
            "--ignore-daemonsets",
            rich_help_panel=_DRAIN,
            help="Ignore pods managed by a DaemonSet: they stay on the node.",
        ),
    ] = False,
    delete_emptydir_data: Annotated[
        bool,
        typer.Option(
            "--delete-emptydir-data", rich_help_panel=_DRAIN, help="Evict pods that use an emptyDir volume, too."
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", rich_help_panel=_DRAIN, help="Evict pods without a controller, too: they are lost for good."
        ),
    ] = False,
    disable_eviction: Annotated[
        bool,
        typer.Option(
            "--disable-eviction",
            rich_help_panel=_DRAIN,
            help="Delete pods instead of evicting them, ignoring disruption budgets.",
        ),
    ] = False,
    rolling: Annotated[
        bool,
        typer.Option(
            "--rolling",
            rich_help_panel=_DRAIN,
            help="Drain one node after another, as an upgrade does: each node comes back before the next is drained.",
        ),
    ] = False,
    surge: Annotated[
        int,
        typer.Option(
            "--surge",
            metavar="N",
            min=0,
            rich_help_panel=_DRAIN,
            help="Add N nodes first, copies of the first drained node.",
            show_default=False,
        ),
    ] = 0,
    place_pending_first: Annotated[
        bool,
        typer.Option(
            "--place-pending-first",
            rich_help_panel=_DRAIN,
            help="Schedule the pending pods before the drain, with their preemptions. Default: they stay pending.",
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Seed of the random choice among nodes with equal scores, as in kube-scheduler. Default: "
            "the first by name.",
            show_default=False,
        ),
    ] = None,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    """Simulate kubectl drain: show what blocks it, where each pod would be scheduled, and which pods stay pending.

    The nodes are cordoned and their pods evicted. If a disruption budget allows no further eviction, the drain waits
    until replacement pods run elsewhere. The flags have the same meaning as in kubectl drain. No cluster is changed.

    The exit code is 0 if all nodes can be drained, all pods that move are scheduled and no pod is lost for lack of a
    controller, and 1 otherwise.
    """
    if not (names or selector or zone):
        raise typer.BadParameter("name nodes, or use --selector or --zone", param_hint="NODE")
    request = cluster.request(what_ifs)

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.drain.analysis import drain
    from kschedctl.questions.drain.run import DrainRequest
    from kschedctl.trials.simulate.drain import DrainOptions

    handle = TerminalHandle()
    options = DrainOptions(
        ignore_daemon_sets=ignore_daemonsets,
        force=force,
        delete_empty_dir_data=delete_emptydir_data,
        disable_eviction=disable_eviction,
        rolling=rolling,
    )
    asked = DrainRequest(
        nodes=tuple(names or ()),
        selector=selector,
        zone=zone,
        options=options,
        surge=surge,
        seed=seed,
        place_pending_first=place_pending_first,
    )
    loaded = request.load_with_pods(handle)
    return CommandResult(answer=drain(loaded, asked, handle), cluster=loaded)
