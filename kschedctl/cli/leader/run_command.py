"""``kschedctl leader run``: the options of the command."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.leader.election_options import TimeOptions
from kschedctl.cli.leader.times import seconds
from kschedctl.cli.options.group import unfolded
from kschedctl.cli.options.shared import ContextOption, IdentityOption, KubeconfigOption


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
        str,
        typer.Option("--grace-period", metavar="TIME", help="Time between SIGTERM and SIGKILL for the command."),
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

    from kschedctl.cli.leader.running import run_while_leading

    raise typer.Exit(run_while_leading(command, lease, identity, grace, times, context, kubeconfig))
