"""``kschedctl leader`` and its subcommands."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from kschedctl.cli.command import command
from kschedctl.cli.help import Command, CommandGroup
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.declared import OptionGroup, unfolded
from kschedctl.cli.options.shared import (
    ConfigOption,
    ContextOption,
    EveryNamespaceOption,
    IdentityOption,
    KubeconfigOption,
    OutputOptions,
)
from kschedctl.cli.streams import ExitCode, say
from kschedctl.common.errors import ClusterError, UnsupportedError
from kschedctl.common.findings import shortened
from kschedctl.leaderelection.locks import LeaseLock, lease_name, own_identity
from kschedctl.leaderelection.runner import Runner
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.kubeconfig import LiveContext

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.leaderelection.network import Fault


# Parsers for times and faults in the options of ``leader simulate`` and ``leader run``.

_FORMS = {
    "--crash": "20s, 20s-35s or 20s=2",
    "--partition": "40s-70s, 40s or 40s-70s=2",
    "--slow-api": "3s, 3s@30s-50s or 3s@30s-50s=leader",
    "--upgrade": "60s",
}


def seconds(text: str, option: str) -> float:
    """Parse a Go duration and return it in seconds; a plain number is in seconds.

    Raises typer.BadParameter if the text is no duration, or is negative.
    """
    from kschedctl.objects.duration import Duration

    try:
        found = Duration.parse(text if not text.isascii() or not text.isdigit() else f"{text}s").nanoseconds / 1e9
    except ValueError:
        found = -1.0
    if found < 0:
        raise typer.BadParameter(f'"{shortened(text)}" is not a duration such as 15s or 1m30s', param_hint=option)
    return found


def part(text: str, option: str) -> float:
    """Parse a fraction: ``5%`` or ``0.05``.

    Raises typer.BadParameter if the text is no fraction, or is not in the range from 0 to below 0.5.
    """
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found < 0.5:
        raise typer.BadParameter(
            f'"{shortened(text)}" is not a fraction such as 5% or 0.05, from 0 to below 50%', param_hint=option
        )
    return found


def faults(
    crashes: Sequence[str], partitions: Sequence[str], slow: Sequence[str], upgrades: Sequence[str], candidates: int
) -> "tuple[Fault, ...]":
    """Parse the faults of all fault options.

    Raises typer.BadParameter if a text is no fault of its option.
    """
    from kschedctl.leaderelection.network import ALL, LEADER, Crash, Partition, SlowApi, Upgrade

    def who(text: str, option: str, default: str) -> tuple[str, str]:
        rest, equals, name = text.partition("=")
        if not equals:
            return rest, default
        # Digits are compared as text: Python reads integers of at most 4,300 digits.
        whom = name.lstrip("0")
        if whom not in (LEADER, ALL, *map(str, range(1, candidates + 1))):
            problem = f'"{shortened(name)}" is not a candidate: 1 to {candidates}, {LEADER} or {ALL}'
            raise typer.BadParameter(problem, param_hint=option)
        return rest, whom

    found: list[Fault] = []
    windowed: tuple[tuple[str, Sequence[str], Callable[..., Fault]], ...] = (
        ("--crash", crashes, Crash),
        ("--partition", partitions, Partition),
    )
    for option, texts, kind in windowed:
        for text in texts:
            when, whom = who(text, option, LEADER)
            found.append(kind(*_window(when, option), whom))
    for text in slow:
        rest, whom = who(text, "--slow-api", ALL)
        how_long, at, when = rest.partition("@")
        window = _window(when, "--slow-api") if at else (0.0, inf)
        found.append(SlowApi(seconds(how_long, "--slow-api"), *window, whom))
    found += [Upgrade(seconds(text, "--upgrade")) for text in upgrades]
    return tuple(found)


def _window(text: str, option: str) -> tuple[float, float]:
    """Parse a time window; an open end is infinite."""
    begin, dash, end = text.partition("-")
    found = seconds(begin, option), seconds(end, option) if dash else inf
    if found[0] >= found[1]:
        raise typer.BadParameter(
            f'"{shortened(text)}" ends before it begins: give a value such as {_FORMS[option]}', param_hint=option
        )
    return found


# The options for the timing of a leader election.

_TIMES: Final = ("lease_duration", "renew_deadline", "retry_period")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _time(flag: str, text: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(flag, metavar="TIME", help=text, show_default=False)
    return found


class TimeOptions(OptionGroup):
    """The three timing settings of an election."""

    title: ClassVar[str] = "Times"

    lease_duration: Annotated[
        str, _time("--lease-duration", "Time that others wait after a renewal. Default: 15s.")
    ] = ""
    renew_deadline: Annotated[
        str, _time("--renew-deadline", "Time that a leader keeps trying to renew. Default: 10s.")
    ] = ""
    retry_period: Annotated[str, _time("--retry-period", "Time between two attempts. Default: 2s.")] = ""

    def laid_over(self, settings: ElectionSettings) -> ElectionSettings:
        """Return the settings overlaid with the times that are given.

        Raises typer.BadParameter if a time is invalid.
        Raises InputError if client-go would reject the times.
        """
        from dataclasses import replace

        found = settings
        for name in _TIMES:
            if text := getattr(self, name):
                found = replace(found, **{name: seconds(text, _flag(name))})  # type: ignore[arg-type]
        found.check()
        return found

    def given(self) -> Iterator[tuple[str, str]]:
        return ((_flag(name), text) for name in _TIMES if (text := getattr(self, name)))


class ElectionOptions(TimeOptions):
    """The settings of the candidates in an election."""

    no_release: Annotated[
        bool,
        typer.Option(
            "--no-release", help="Do not release the lease when a candidate ends; kube-scheduler releases it."
        ),
    ] = False

    def settings(self, config: str) -> ElectionSettings:
        """Return the settings of a KubeSchedulerConfiguration, if one is given, overlaid with the options.

        Raises InputError if the configuration or the times are invalid.
        """
        from dataclasses import replace

        from kschedctl.leaderelection.settings import ElectionSettings

        if config:
            from kschedctl.leaderelection.overview import settings_of
            from kschedctl.questions.loading import load_settings

            settings = settings_of(load_settings(config).leader_election)
        else:
            settings = ElectionSettings()
        if self.no_release:
            settings = replace(settings, release_on_cancel=False)
        return self.laid_over(settings)


# ``kschedctl leader run``: the options of the command.


@unfolded
def run(
    *,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="Command to run, with its arguments.")],
    lease: Annotated[
        str,
        typer.Option("--lease", metavar="NAMESPACE/NAME", help="Lease to hold; it is created if it does not exist."),
    ],
    identity: IdentityOption = "",
    grace_period: Annotated[
        str, typer.Option("--grace-period", metavar="TIME", help="Time between SIGTERM and SIGKILL for the command.")
    ] = "2s",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    times: TimeOptions,
) -> None:
    """Run a command only while holding a Lease, so that only one copy is active at a time.

    It waits for the Lease, as kube-scheduler does, then starts the command. If the Lease is lost, the command gets
    SIGTERM, and SIGKILL after the grace period: always before another candidate can acquire the Lease, even if this
    program is killed or stopped. When the command ends, all processes that it has started are killed and the Lease is
    released. Signals are forwarded to the command. On a machine that sleeps, or is stopped as a whole, the command
    cannot be ended in time.

    On Linux, processes in sessions of their own, such as daemons, are killed too. If this program and its guard process
    are killed together (pkill -9 -f), the kernel kills the command, but not the processes that it has started. Systems
    other than Linux have no such means: there, the process group of the command is killed, and a command whose guard is
    killed as well runs on.

    This writes to the cluster: the Lease, and nothing else. The user needs get, create and update on leases.

    The exit code is that of the command (137 if it was killed), and 3 if it was ended because the Lease was lost.
    """
    grace = seconds(grace_period, "--grace-period")

    raise typer.Exit(run_while_leading(command, lease, identity, grace, times, context, kubeconfig))


# ``kschedctl leader simulate``.

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
) -> "CommandResult":
    """Simulate a leader election with failures, and report whether two candidates can ever lead at once.

    The candidates behave like client-go on a virtual clock, and end like kube-scheduler after they have lost the lease.
    Beside this election, the guarantees of the times are shown, which hold for elections with any faults.

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
    request = SimulationRequest(settings=settings, scenario=scenario, fail_over=wanted)
    return CommandResult(answer=simulate_election(request, TerminalHandle()))


app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
@command
def leader(
    *, ctx: typer.Context, all_namespaces: EveryNamespaceOption = False, cluster: ClusterOptions, output: OutputOptions
) -> "CommandResult | None":
    """Show the leader of every election on a Lease, since when it leads, and when another candidate would take over.

    Reported are the age of the last renewal at the time of the snapshot, the number of leader changes, holders that are
    no pod or node of the snapshot, schedulers without an election, and election records in annotations, which clusters
    used before Leases existed. With --config, also settings of the scheduler's leaderElection that do not match. A
    holder is late if it has not renewed for more than two retry periods, which are longer in proportion for a longer
    lease duration than that of the scheduler.

    A running cluster is asked for the Leases of all namespaces; without the right to list nodes or pods, holders are
    shown by their identities alone.

    The exit code is 1 if an election has no leader, if there is no election, or if there is another error.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.leader.analysis import leader

    loaded = cluster.request().load(TerminalHandle())
    return CommandResult(answer=leader(loaded, check_configuration=bool(cluster.config)))


app.command(cls=Command)(simulate)
# All words after the name of the command to run belong to that command.
app.command(cls=Command, context_settings={"allow_interspersed_args": False})(run)


# The execution of ``leader run`` once its options are read.


def run_while_leading(
    command: Sequence[str], lease: str, identity: str, grace: float, times: TimeOptions, context: str, kubeconfig: str
) -> int:
    """Run a command while a Lease is held.

    Args:
        identity: The identity of this candidate; empty for the host's name and a unique suffix.
        grace: The time between SIGTERM and SIGKILL for the command, in seconds.
        context, kubeconfig: The kubectl context and the kubeconfig file; empty for kubectl's defaults.

    Raises InputError if an argument is invalid.
    Raises ClusterError if no cluster is configured, or the Lease was lost.
    Raises UnsupportedError if the operating system is not POSIX.
    """
    if os.name != "posix":
        raise UnsupportedError(
            "running a command while leading is supported on Unix only, where process groups can be killed"
        )
    namespace, name = lease_name(lease)
    settings = times.laid_over(ElectionSettings())
    runner = Runner(command, settings, grace, lambda text: say(f"kschedctl: {text}"))
    live = LiveContext(
        context=context, kubeconfig=kubeconfig, request_seconds=settings.request_timeout, snapshot_would_do=False
    )
    client = ObjectClient(live)
    own = identity or own_identity()
    lock = LeaseLock(client, namespace, name, own, runner.clock)
    say(f"kschedctl: waiting for Lease {lease} as {own}")
    sys.stderr.flush()
    ending = runner.run(lock)
    if ending.lost:
        raise ClusterError(f"the command was stopped, as Lease {lease} was lost")
    return ending.code or ExitCode.YES
