"""``kschedctl leader simulate``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.leader.election_options import ElectionOptions
from kschedctl.cli.leader.times import faults, part, seconds
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.shared import ConfigOption

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult

_WRONG = "Faults"


def _fault(flag: str, metavar: str, text: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(
        flag, metavar=metavar, help=text, show_default=False, rich_help_panel=_WRONG
    )
    return found


@partial(command, name="leader simulate")
def simulate(
    *,
    candidates: Annotated[
        int, typer.Option("--candidates", metavar="N", min=1, max=50, help="Number of candidates.")
    ] = 3,
    duration: Annotated[
        str,
        typer.Option(
            "--duration",
            metavar="TIME",
            help="Simulated time. Default: 2m, or until three lease durations after the last fault.",
            show_default=False,
        ),
    ] = "",
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the simulation; equal seeds give equal results.")
    ] = 0,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            metavar="N",
            min=0,
            max=100_000,
            help="Number of elections with random faults that are searched for two leaders at once. Default: "
            "400, or 40 if the times exclude it.",
            show_default=False,
        ),
    ] = None,
    fail_over: Annotated[
        str,
        typer.Option(
            "--fail-over",
            metavar="TIME",
            help="Suggest times with which another candidate leads this soon after a crash, and never two at once.",
            show_default=False,
        ),
    ] = "",
    crash: Annotated[
        list[str] | None,
        _fault(
            "--crash",
            "TIME[-TIME][=WHO]",
            "Crash of a candidate, restarted at the second time. WHO is leader, a number or all. Default: leader.",
        ),
    ] = None,
    partition: Annotated[
        list[str] | None,
        _fault(
            "--partition",
            "TIME[-TIME][=WHO]",
            "Network partition between a candidate and the API server. Default: leader.",
        ),
    ] = None,
    slow_api: Annotated[
        list[str] | None,
        _fault(
            "--slow-api", "TIME[@TIME[-TIME]][=WHO]", "Slow API server: requests take up to this long. Default: all."
        ),
    ] = None,
    upgrade: Annotated[
        list[str] | None,
        _fault("--upgrade", "TIME", "Rolling replacement of all candidates by their Deployment, one after another."),
    ] = None,
    clock_skew: Annotated[str, _fault("--clock-skew", "TIME", "Largest clock offset, such as 2s.")] = "0s",
    clock_drift: Annotated[
        str, _fault("--clock-drift", "PART", "Largest clock drift, too fast or too slow, such as 5%.")
    ] = "0%",
    config: ConfigOption = "",
    times: ElectionOptions,
    output: OutputOptions,
) -> CommandResult:
    """Simulate a leader election with failures, and report whether two candidates can ever lead at once.

    The candidates behave like client-go on a virtual clock, and end like kube-scheduler after they have lost the lease.
    If the times exclude two leaders at once, the result is shown with the numbers; otherwise elections are searched for
    one in which two lead, and the options that reproduce it are shown.

    At most 5,000,000 attempts to acquire or renew the lease are simulated, about two minutes; a request for more is
    refused.

    The exit code is 1 if two candidates led at once.
    """
    given = faults(crash or (), partition or (), slow_api or (), upgrade or (), candidates)
    skew, drift = seconds(clock_skew, "--clock-skew"), part(clock_drift, "--clock-drift")
    length = seconds(duration, "--duration") if duration else None
    wanted = seconds(fail_over, "--fail-over") if fail_over else None
    if length == 0:
        raise typer.BadParameter("must be greater than 0", param_hint="--duration")

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.leaderelection.network import Scenario
    from kschedctl.questions.leader.analysis import SimulationRequest, long_enough, simulate_election

    settings = times.settings(config)
    scenario = Scenario(
        candidates=candidates,
        duration=long_enough(settings, given) if length is None else length,
        faults=given,
        clock_skew=skew,
        clock_drift=drift,
        seed=seed,
    )
    request = SimulationRequest(settings=settings, scenario=scenario, runs=runs, fail_over=wanted)
    return CommandResult(answer=simulate_election(request, TerminalHandle()))
