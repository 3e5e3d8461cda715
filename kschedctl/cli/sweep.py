"""``kschedctl sweep``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.shared import TableOutputOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult

_WORK = "Execution"


@command
def sweep(
    *,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="Plan: the question and its axes, as YAML.")],
    pareto: Annotated[
        bool,
        typer.Option(
            "--pareto",
            help="Show only cases on the Pareto front: no other case is at least as good in every goal and "
            "better in one.",
        ),
    ] = False,
    config_of: Annotated[
        int | None,
        typer.Option(
            "--config-of",
            metavar="CASE",
            min=1,
            help="Print the KubeSchedulerConfiguration of a case, without running anything.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="N", min=0, help="Number of processes; 0 means one per core.", rich_help_panel=_WORK
        ),
    ] = 0,
    dask: Annotated[
        str,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Run on the workers of a Dask scheduler, such as tcp://host:8786.",
            show_default=False,
            rich_help_panel=_WORK,
        ),
    ] = "",
    results: Annotated[
        str,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Write the row of each case to this file as soon as it is known, as JSON Lines.",
            show_default=False,
            rich_help_panel=_WORK,
        ),
    ] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="With --results: continue where the file ends.", rich_help_panel=_WORK)
    ] = False,
    output: TableOutputOptions,
) -> "CommandResult | None":
    """Answer many what-ifs at once, as a table: sizes, replicas, weights, profiles, zone losses, releases or snapshots.

    A plan has a snapshot, a question and axes; every combination of the axes' values is a case and a row. docs/sweep.md
    documents all fields of a plan. A case that fails is reported with its error; the other cases are not affected.

    The exit code is 0 if all cases are answered, and 1 if some failed; Ctrl-C shows the part that was done.
    """
    if resume and not results:
        raise typer.BadParameter("requires --results", param_hint="--resume")
    if dask and jobs:
        problem = "cannot be combined with --dask, whose workers have their own number of processes"
        raise typer.BadParameter(problem, param_hint="--jobs")

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.streams import write
    from kschedctl.output.data_forms import dumped
    from kschedctl.questions.sweep.analysis import SweepRequest, configuration, sweep

    if config_of is not None:
        write(dumped(configuration(plan, config_of)))
        return None
    asked = SweepRequest(plan=plan, needs_goals=pareto, jobs=jobs, dask=dask, results=results, resume=resume)
    answer = sweep(asked, TerminalHandle())
    return CommandResult(answer=answer.front if pareto else answer)
