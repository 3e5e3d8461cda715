"""``kschedctl sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.output import TableOutputOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown

_WORK = "How it is worked on"


@command
def sweep(
    *,
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="What is asked, and along which axes that changes: YAML.")
    ],
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Tell those cases alone that none is better than in every goal.")
    ] = False,
    plot: Annotated[
        str,
        typer.Option("--plot", metavar="FILE.svg", help="Draw the cases by their first two goals.", show_default=False),
    ] = "",
    config_of: Annotated[
        int | None,
        typer.Option(
            "--config-of",
            metavar="CASE",
            min=1,
            help="Print the KubeSchedulerConfiguration of a case, and ask nothing.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --plot: replace a file that is there.")] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="N", min=0, help="How many processes; 0 is one per core.", rich_help_panel=_WORK
        ),
    ] = 0,
    dask: Annotated[
        str,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Work on it on the machines of a Dask scheduler, such as tcp://host:8786.",
            show_default=False,
            rich_help_panel=_WORK,
        ),
    ] = "",
    results: Annotated[
        str,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Write the row of each case there as it comes: JSON Lines.",
            show_default=False,
            rich_help_panel=_WORK,
        ),
    ] = "",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="With --results: go on where the file ends.", rich_help_panel=_WORK),
    ] = False,
    output: TableOutputOptions,
) -> Shown | None:
    """Answer many what-ifs at once: sizes, replicas, weights, profiles, zone losses, releases or snapshots, as a table.

    A plan names a snapshot, a question and axes; every combination of their values is a case and a row. docs/sweep.md
    has all that a plan can say. A case that fails is told with its error, and the others are not lost over it.

    The exit code is 0 where all cases are answered and 1 where some failed; Ctrl-C shows what was done so far.
    """
    if resume and not results:
        raise typer.BadParameter("only with --results", param_hint="--resume")
    if force and not plot:
        raise typer.BadParameter("only with --plot", param_hint="--force")
    if dask and jobs:
        raise typer.BadParameter("the machines of --dask have their own", param_hint="--jobs")
    if plot and not plot.endswith(".svg"):
        raise typer.BadParameter("a name that ends in .svg is expected", param_hint="--plot")

    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown
    from kschedctl.cli.streams import write
    from kschedctl.errors import InputError
    from kschedctl.presentation.frame import View
    from kschedctl.presentation.registry import document
    from kschedctl.render.svg import picture
    from kschedctl.render.yaml import dumped
    from kschedctl.sweep.analysis import SweepRequest, configuration, sweep

    if config_of is not None:
        write(dumped(configuration(plan, config_of)))
        return None
    if plot and Path(plot).exists() and not force:
        raise InputError("is there already", where=plot, hint="--force replaces it")
    handle = TerminalHandle()
    goals = 2 if plot else 1 if pareto else 0
    asked = SweepRequest(plan=plan, goals=goals, jobs=jobs, dask=dask, results=results, resume=resume)
    answer = sweep(asked, handle)
    if plot:
        Path(plot).write_text(picture(document(answer, View())), encoding="utf-8")
        handle.note(f"{plot}: the cases by {' and '.join(goal.column for goal in answer.goals[:2])}")
    return Shown(answer=answer.front if pareto else answer)
