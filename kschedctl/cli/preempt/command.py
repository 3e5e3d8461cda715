"""``kschedctl preempt``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import SeedOption
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.report.render.form import Reply


@command
def preempt(
    *,
    which: PodOptions,
    victim: Annotated[
        str,
        typer.Option(
            "--victim",
            metavar="NAMESPACE/NAME",
            autocompletion=completion.pods,
            help="The reverse: which pending pods would evict this one.",
            show_default=False,
        ),
    ] = "",
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    min_candidate_nodes: Annotated[
        int | None,
        typer.Option(
            "--min-candidate-nodes",
            metavar="N",
            min=1,
            help="Stop at so many candidates, as kube-scheduler does in large clusters. Default: look at all nodes.",
            show_default=False,
        ),
    ] = None,
    offset: Annotated[
        int,
        typer.Option("--offset", metavar="K", min=0, help="Begin at this node; kube-scheduler begins at a random one."),
    ] = 0,
    fail_on_pdb_violation: Annotated[
        bool, typer.Option("--fail-on-pdb-violation", help="Exit with 1 where a disruption budget would be violated.")
    ] = False,
    seed: SeedOption = None,
    output: OutputOptions,
) -> Reply:
    """Say whom kube-scheduler would evict to make room for a pod, on which node, and why them.

    Without a POD and -f, the pending pods are answered for, each against the snapshot as it is, highest priority first:
    of namespace default, of -n, or with -A of all; with -l all pods with those labels. -o name prints the victims.

    The exit code is 0 where the pod fits or can be helped so, with --victim where nobody would evict that pod.
    """
    if offset and min_candidate_nodes is None:
        raise typer.BadParameter("only with --min-candidate-nodes", param_hint="--offset")
    if victim and (which.pods or which.filename or which.selector):
        raise typer.BadParameter("asks about one pod alone: leave PODs, -f and -l out", param_hint="--victim")
    chosen = cluster.chosen(what_ifs, admission=not which.no_admission)

    from kschedctl.cli.selection import PodSelection

    selection = PodSelection(which, chosen)
    if victim:
        from kschedctl.cli.preempt.threat import ThreatReply

        return ThreatReply(selection, victim, fail_on_violation=fail_on_pdb_violation)

    from kschedctl.cli.preempt.run import PreemptOptions, PreemptReply

    return PreemptReply(
        selection,
        PreemptOptions(
            min_candidate_nodes=min_candidate_nodes, offset=offset, seed=seed, fail_on_violation=fail_on_pdb_violation
        ),
    )
