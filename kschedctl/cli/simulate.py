"""``kschedctl simulate``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import ManifestOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def simulate(
    *,
    which: ManifestOptions,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Seed of the random choice among nodes with equal scores, as in kube-scheduler; equal seeds "
            "give equal results. Default: the first node by name.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="PATH", help="Write the final state of the cluster as a snapshot.", show_default=False
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="With --save: replace files of an earlier run.")] = False,
    output: OutputOptions,
) -> "CommandResult":
    """Schedule many pods one after another, and show which are scheduled, which stay pending and which are evicted.

    The pods are those of the manifests and the pending ones of the snapshot, in the order of their creation; they go
    through kube-scheduler's queue. Time is simulated: back-off, grace periods of victims, and the pods that controllers
    recreate. When a pod is bound, its claims are bound or provisioned, and it counts as healthy for disruption budgets.
    The pods of a gang are tried together and shown together.

    The exit code is 0 if all pods are scheduled, and 1 if some stay pending; Ctrl-C shows the part that was done.
    """
    if force and not save:
        raise typer.BadParameter("requires --save", param_hint="--force")
    request = cluster.request(what_ifs)

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.manifests import load_with_manifests
    from kschedctl.questions.simulate.analysis import SimulateRequest, run_simulation, simulation_answer
    from kschedctl.questions.simulate.document import SimulateView
    from kschedctl.sources.snapshot.capture import ClusterReader, capture, check_target, write_capture

    handle = TerminalHandle()
    if save:
        check_target(save, force=force)
    loaded = load_with_manifests(which.request(), request, handle)
    asked = SimulateRequest(seed=seed)
    run = run_simulation(loaded, asked, handle)
    if save and run.finished:
        write_capture(capture(ClusterReader(run.simulation.cluster, loaded.snapshot.summary)), save, force=force)
        handle.note(f"{save}: the final state of the cluster")
    view = SimulateView(saved=save if run.finished else "")
    return CommandResult(answer=simulation_answer(loaded, asked, run), cluster=loaded, view=view)
