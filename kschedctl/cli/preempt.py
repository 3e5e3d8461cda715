"""``kschedctl preempt``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import SeedOption
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown


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
) -> Shown:
    """Say whom kube-scheduler would evict to make room for a pod, on which node, and why them.

    Without a POD and -f, the pending pods are answered for, each against the snapshot as it is, highest priority first:
    of namespace default, of -n, or with -A of all; with -l all pods with those labels. -o name prints the victims.

    The exit code is 0 where the pod fits or can be helped so, with --victim where nobody would evict that pod.
    """
    if offset and min_candidate_nodes is None:
        raise typer.BadParameter("only with --min-candidate-nodes", param_hint="--offset")
    if victim and (which.pods or which.filename or which.selector):
        raise typer.BadParameter("asks about one pod alone: leave PODs, -f and -l out", param_hint="--victim")
    request = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from dataclasses import replace

    from kschedctl.analyses.preempt.analysis import PreemptRequest, in_queue_order, preempt
    from kschedctl.analyses.preempt.threat import threat
    from kschedctl.answers.preempt import PreemptionList
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown, shown_list

    handle = TerminalHandle()
    if victim:
        loaded = request.cluster.load_with_pods(handle)
        found = threat(loaded, request.named_pod(loaded.pods, victim).pod.key)
        violates = fail_on_pdb_violation and any(taker.violates_budget for taker in found.takers)
        return Shown(answer=found, outcome=replace(found.outcome, yes=found.yes and not violates))
    loaded, pods = request.load(handle)
    if not request.named:
        pods = in_queue_order(pods)
    asked = PreemptRequest(pods=tuple(pods), min_candidate_nodes=min_candidate_nodes, offset=offset, seed=seed)
    answers = PreemptionList(items=preempt(loaded, asked, handle))
    violates = fail_on_pdb_violation and any(answer.verdict.violates_budget for answer in answers.items)
    outcome = replace(answers.outcome, yes=answers.outcome.yes and not violates)
    return replace(shown_list(answers, pods, named=request.named), outcome=outcome)
