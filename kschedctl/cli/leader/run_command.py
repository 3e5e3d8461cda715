"""``kschedctl leader run``: its options."""

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
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command and its arguments.")],
    lease: Annotated[
        str, typer.Option("--lease", metavar="NAMESPACE/NAME", help="The Lease; it is made where there is none.")
    ],
    identity: IdentityOption = "",
    grace_period: Annotated[
        str,
        typer.Option("--grace-period", metavar="TIME", help="How long the command has between SIGTERM and SIGKILL."),
    ] = "2s",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    times: TimeOptions,
) -> None:
    """Run a command only while leading, for whatever must be active once.

    It waits for the Lease, as kube-scheduler does, then starts the command. Once the Lease is lost the command gets
    SIGTERM, and SIGKILL after the grace period: always before the Lease can be another's, also where this program is
    killed or stopped. When the command ends, whatever it has started is killed and the Lease is given up. Signals are
    handed on to the command. On a machine that sleeps, or is stopped as a whole, nothing can do so in time.

    This writes to the cluster: the Lease, and nothing else. The user needs get, create and update on leases.

    The exit code is that of the command, and 3 where it was ended because the Lease was lost.
    """
    grace = seconds(grace_period, "--grace-period")

    from kschedctl.cli.leader.running import run_while_leading

    raise typer.Exit(run_while_leading(command, lease, identity, grace, times, context, kubeconfig))
