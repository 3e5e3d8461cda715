"""``kschedctl preempt``."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.preempt.request import PreemptRequest

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
    request: PreemptRequest,
    fail_on_pdb_violation: Annotated[
        bool, typer.Option("--fail-on-pdb-violation", help="Exit with 1 if a disruption budget would be violated.")
    ] = False,
    output: OutputOptions,
) -> "CommandResult":
    if victim and (which.pods or which.filename or which.selector):
        raise typer.BadParameter("is about one pod only: omit PODs, -f and -l", param_hint="--victim")
    pods = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from msgspec.structs import replace

    from kschedctl.cli.command_result import CommandResult, shown_list
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.preempt.analysis import in_queue_order, threat
    from kschedctl.questions.preempt.analysis import preempt as victims
    from kschedctl.questions.preempt.answer import PreemptionList

    handle = TerminalHandle()
    if victim:
        loaded = pods.cluster.load_with_pods(handle)
        threatened = threat(loaded, pods.named_pod(loaded.cluster, victim).pod.key)
        violates = fail_on_pdb_violation and any(taker.violates_budget for taker in threatened.takers)
        return CommandResult(
            answer=threatened, outcome=dataclasses.replace(threatened.outcome, yes=threatened.yes and not violates)
        )
    loaded, found = pods.load(handle)
    if not pods.named:
        found = in_queue_order(found)
    asked = dataclasses.replace(request, pod=tuple(found))
    answers = PreemptionList(items=victims(loaded, asked, handle))
    violates = fail_on_pdb_violation and any(answer.verdict.violates_budget for answer in answers.items)
    outcome = dataclasses.replace(answers.outcome, yes=answers.outcome.yes and not violates)
    return replace(shown_list(answers, found, named=pods.named, cluster=loaded), outcome=outcome)
