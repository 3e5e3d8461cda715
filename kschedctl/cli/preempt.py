"""``kschedctl preempt``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import OutputOptions, SeedOption
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


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
            help="Show which pending pods would preempt this pod instead.",
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
            help="Stop after N candidates, as kube-scheduler does in large clusters. Default: try all nodes.",
            show_default=False,
        ),
    ] = None,
    offset: Annotated[
        int,
        typer.Option(
            "--offset", metavar="K", min=0, help="Start the search at this node; kube-scheduler starts at a random one."
        ),
    ] = 0,
    fail_on_pdb_violation: Annotated[
        bool, typer.Option("--fail-on-pdb-violation", help="Exit with 1 if a disruption budget would be violated.")
    ] = False,
    seed: SeedOption = None,
    output: OutputOptions,
) -> "CommandResult":
    """Show which pods kube-scheduler would evict to schedule a pod, on which node, and why.

    Without POD and -f, the pending pods are used, each decided independently, highest priority first; with -l all pods
    with matching labels. They are those of the current namespace of a running cluster, or of all namespaces of a
    snapshot; -n and -A name others. -o name prints the victims.

    The exit code is 0 if the pod fits or preemption helps, with --victim if no pod would preempt that pod, and 1
    otherwise. Evictions do not help if the victims come back before the pod can start.
    """
    if offset and min_candidate_nodes is None:
        raise typer.BadParameter("requires --min-candidate-nodes", param_hint="--offset")
    if victim and (which.pods or which.filename or which.selector):
        raise typer.BadParameter("is about one pod only: omit PODs, -f and -l", param_hint="--victim")
    request = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from dataclasses import replace

    from kschedctl.cli.command_result import CommandResult, shown_list
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.preempt.analysis import PreemptRequest, in_queue_order, preempt, threat
    from kschedctl.questions.preempt.answer import PreemptionList

    handle = TerminalHandle()
    if victim:
        loaded = request.cluster.load_with_pods(handle)
        found = threat(loaded, request.named_pod(loaded.pods, victim).pod.key)
        violates = fail_on_pdb_violation and any(taker.violates_budget for taker in found.takers)
        return CommandResult(answer=found, outcome=replace(found.outcome, yes=found.yes and not violates))
    loaded, pods = request.load(handle)
    if not request.named:
        pods = in_queue_order(pods)
    asked = PreemptRequest(pods=tuple(pods), min_candidate_nodes=min_candidate_nodes, offset=offset, seed=seed)
    answers = PreemptionList(items=preempt(loaded, asked, handle))
    violates = fail_on_pdb_violation and any(answer.verdict.violates_budget for answer in answers.items)
    outcome = replace(answers.outcome, yes=answers.outcome.yes and not violates)
    return replace(shown_list(answers, pods, named=request.named, cluster=loaded), outcome=outcome)
