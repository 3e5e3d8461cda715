"""``kschedctl explain``."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.explain.request import ExplainRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def explain(
    *,
    which: PodOptions,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    request: ExplainRequest,
    nodes: Annotated[bool, typer.Option("--nodes", help="Show nodes one by one, not in groups.")] = False,
    show_admission: Annotated[
        bool, typer.Option("--show-admission", help="Show what the API server changes in the pod on admission.")
    ] = False,
    no_suggest: Annotated[bool, typer.Option("--no-suggest", help="Same as --suggest 0.")] = False,
    output: OutputOptions,
) -> "CommandResult":
    if show_admission and which.no_admission:
        raise typer.BadParameter("--no-admission is given, too: give only one of them", param_hint="--show-admission")
    if no_suggest and (request.suggest or request.apply_suggestion):
        other = "--suggest" if request.suggest else "--apply-suggestion"
        raise typer.BadParameter(f"{other} is given, too: give only one of them", param_hint="--no-suggest")
    pods = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from kschedctl.cli.command_result import CommandResult, arguments_of
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.answer import AnswerStream
    from kschedctl.questions.explain import analysis
    from kschedctl.questions.explain.answer import ExplanationList
    from kschedctl.questions.explain.document import ExplainView

    handle = TerminalHandle()
    loaded, found = pods.load(handle)
    asked = dataclasses.replace(request, pod=tuple(found), suggest=0 if no_suggest else request.suggest)
    arguments = arguments_of(found)
    if output.is_short and not pods.named and asked.can_be_summed_up:
        return CommandResult(answer=analysis.summarize(loaded, found, handle), cluster=loaded, arguments=arguments)
    if output.is_short and asked.is_daemon_set:
        return CommandResult(answer=analysis.explain_daemon_set(loaded, asked, handle), arguments=arguments)
    return CommandResult(
        cluster=loaded,
        answer=AnswerStream(
            analysis.explain(loaded, asked, handle),
            gather=lambda items: ExplanationList(items=items),
            total=len(found),
            single=pods.named and len(found) == 1,
            order=None if pods.named else analysis.worst_first,
        ),
        view=ExplainView(
            nodes=tuple(asked.node),
            nodes_alone=nodes,
            reasons=asked.why,
            admission=show_admission,
            withstand=asked.withstand,
            applied=bool(asked.apply_suggestion),
        ),
        arguments=arguments,
    )
