"""``kschedctl simulate``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import ManifestOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.simulate.request import SimulateRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def simulate(
    *,
    which: ManifestOptions,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    request: SimulateRequest,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="PATH", help="Write the final state of the cluster as a snapshot.", show_default=False
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="With --save: replace files of an earlier run.")] = False,
    output: OutputOptions,
) -> "CommandResult":
    if force and not save:
        raise typer.BadParameter("requires --save", param_hint="--force")
    of_cluster = cluster.request(what_ifs)

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.manifests import load_with_manifests
    from kschedctl.questions.simulate.analysis import run_simulation, simulation_answer
    from kschedctl.questions.simulate.document import SimulateView
    from kschedctl.sources.snapshot.capture import ClusterReader, capture, check_target, write_capture

    handle = TerminalHandle()
    if save:
        check_target(save, force=force)
    loaded = load_with_manifests(which.request(), of_cluster, handle)
    run = run_simulation(loaded, request, handle)
    if save and run.finished:
        write_capture(capture(ClusterReader(run.simulation.cluster, loaded.snapshot.summary)), save, force=force)
        handle.note(f"{save}: the final state of the cluster")
    view = SimulateView(saved=save if run.finished else "")
    return CommandResult(answer=simulation_answer(loaded, request, run), cluster=loaded, view=view)
