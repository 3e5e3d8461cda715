"""``kschedctl explain``."""

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
def explain(
    *,
    which: PodOptions,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    node: Annotated[
        list[str] | None,
        typer.Option("--node", metavar="NAME", help="Show this node only.", autocompletion=completion.nodes),
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Show nodes one by one, not in groups.")] = False,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Show raw and normalised scores and the allocations of ResourceClaims, and with --node the "
            "full details of the node.",
        ),
    ] = False,
    prefer: Annotated[
        str,
        typer.Option(
            "--prefer",
            metavar="NODE",
            help="Show changes that would move the pod to this node, each of them tried.",
            autocompletion=completion.nodes,
        ),
    ] = "",
    withstand: Annotated[
        bool,
        typer.Option(
            "--withstand", help="Show how many further nodes, and which zone, can fail before the pod fits nowhere."
        ),
    ] = False,
    sampling: Annotated[
        bool,
        typer.Option(
            "--sampling",
            help="End the search at as many feasible nodes as kube-scheduler does (percentageOfNodesToScore), from "
            "every possible start. Default: all nodes are scored.",
        ),
    ] = False,
    show_admission: Annotated[
        bool, typer.Option("--show-admission", help="Show what the API server changes in the pod on admission.")
    ] = False,
    suggest: Annotated[
        int | None,
        typer.Option(
            "--suggest",
            metavar="N",
            min=0,
            max=100,
            help="Search for up to N changes with which a pod would fit. Default: 5, or 0 for more than 8 "
            "pods and for DaemonSets.",
            show_default=False,
        ),
    ] = None,
    no_suggest: Annotated[bool, typer.Option("--no-suggest", help="Same as --suggest 0.")] = False,
    apply_suggestion: Annotated[
        int | None,
        typer.Option("--apply-suggestion", metavar="K", min=1, help="Answer as if the K-th suggestion were applied."),
    ] = None,
    seed: SeedOption = None,
    output: OutputOptions,
) -> "CommandResult":
    """Explain where kube-scheduler would schedule a pod, or why it cannot, node by node.

    Without POD and -f, the pending pods are explained; with -l all pods with matching labels. They are those of the
    current namespace of a running cluster, or of all namespaces of a snapshot; -n and -A name others.

    With -o name, each node that the pod can be scheduled to is printed on a line: node/NODE, and for several pods
    pod/NAMESPACE/NAME node/NODE.

    docs/scheduling.md explains how a pod gets its node, and what the messages mean.
    """
    if show_admission and which.no_admission:
        raise typer.BadParameter("--no-admission is given, too: give only one of them", param_hint="--show-admission")
    if no_suggest and (suggest or apply_suggestion):
        other = "--suggest" if suggest else "--apply-suggestion"
        raise typer.BadParameter(f"{other} is given, too: give only one of them", param_hint="--no-suggest")
    request = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from kschedctl.cli.command_result import CommandResult, arguments_of
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.answer import AnswerStream
    from kschedctl.questions.explain import analysis
    from kschedctl.questions.explain.answer import ExplanationList
    from kschedctl.questions.explain.document import ExplainView

    handle = TerminalHandle()
    loaded, pods = request.load(handle)
    asked = analysis.ExplainRequest(
        pods=tuple(pods),
        nodes=tuple(node or ()),
        stories=why,
        suggest=0 if no_suggest else suggest,
        apply_suggestion=apply_suggestion,
        prefer=prefer,
        withstand=withstand,
        sampling=sampling,
        seed=seed,
    )
    arguments = arguments_of(pods)
    if output.is_short and not request.named and asked.can_be_summed_up:
        return CommandResult(answer=analysis.summarize(loaded, pods, handle), cluster=loaded, arguments=arguments)
    if output.is_short and asked.is_daemon_set:
        return CommandResult(answer=analysis.explain_daemon_set(loaded, asked, handle), arguments=arguments)
    return CommandResult(
        cluster=loaded,
        answer=AnswerStream(
            analysis.explain(loaded, asked, handle),
            gather=lambda items: ExplanationList(items=items),
            total=len(pods),
            single=request.named and len(pods) == 1,
        ),
        view=ExplainView(
            nodes=asked.nodes,
            nodes_alone=nodes,
            reasons=why,
            admission=show_admission,
            withstand=withstand,
            applied=bool(apply_suggestion),
        ),
        arguments=arguments,
    )
