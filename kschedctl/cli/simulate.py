"""``kschedctl simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.manifests import ManifestOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown


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
            help="Draw among equal nodes, as kube-scheduler does; the same number draws the same. "
            "Default: the first by name.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="PATH", help="Write the cluster as it is in the end: a snapshot.", show_default=False
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="With --save: replace files of an earlier run.")] = False,
    output: OutputOptions,
) -> Shown:
    """Put many pods through kube-scheduler's queue, one after another: who gets a node, who waits, who is evicted.

    The pods are those of the manifests and the pending ones of the snapshot, in the order of their creation. Time is
    the cluster's own and passes at once: back-off, grace periods of victims, the pods that their controllers make
    anew. A pod that is bound has its claims bound or provisioned, and counts as healthy for disruption budgets.

    The exit code is 0 where all pods get a node and 1 where some wait; Ctrl-C shows what was done so far.
    """
    if force and not save:
        raise typer.BadParameter("only with --save", param_hint="--force")
    request = cluster.request(what_ifs)

    from kschedctl.analyses.simulate import SimulateRequest, run_simulation, simulation_answer
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown
    from kschedctl.presentation.simulate import SimulateView
    from kschedctl.requests.manifests import load_with_manifests
    from kschedctl.snapshot.capture import capture
    from kschedctl.snapshot.capture_files import check_target, write_capture
    from kschedctl.snapshot.cluster_reader import ClusterReader

    handle = TerminalHandle()
    if save:
        check_target(save, force=force)
    loaded = load_with_manifests(which.request(), request, handle)
    asked = SimulateRequest(seed=seed)
    run = run_simulation(loaded, asked, handle)
    if save and run.finished:
        write_capture(capture(ClusterReader(run.simulation.cluster, loaded.snapshot.summary)), save, force=force)
        handle.note(f"{save}: the cluster as it is in the end")
    view = SimulateView(saved=save if run.finished else "")
    return Shown(answer=simulation_answer(loaded, asked, run), view=view)
