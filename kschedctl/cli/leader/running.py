"""The execution of ``leader run`` once its options are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.leader.election_options import TimeOptions
from kschedctl.cli.streams import say
from kschedctl.common.errors import ClusterError, UnsupportedError
from kschedctl.leaderelection.locks import LeaseLock, lease_name, own_identity
from kschedctl.leaderelection.runner import Runner
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.kubeconfig import LiveContext


def run_while_leading(
    command: Sequence[str],
    lease: str,
    identity: str,
    grace: float,
    times: TimeOptions,
    context: str,
    kubeconfig: str,
) -> int:
    """Run a command while a Lease is held.

    Parameters
    ----------
    command : sequence of str
        The command and its arguments.
    lease : str
        The Lease, as NAMESPACE/NAME.
    identity : str
        The identity of this candidate; empty for the host's name and a unique suffix.
    grace : float
        The time between SIGTERM and SIGKILL for the command, in seconds.
    times : TimeOptions
        The times of the election.
    context, kubeconfig : str
        The kubectl context and the kubeconfig file; empty for kubectl's defaults.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    InputError
        If an argument is invalid.
    ClusterError
        If no cluster is configured, or the Lease was lost.
    UnsupportedError
        If the operating system is not POSIX.
    """
    if os.name != "posix":
        raise UnsupportedError(
            "running a command while leading is supported on Unix only, where process groups can be killed"
        )
    namespace, name = lease_name(lease)
    settings = times.laid_over(ElectionSettings())
    runner = Runner(command, settings, grace, lambda text: say(f"kschedctl: {text}"))
    live = LiveContext(
        context=context,
        kubeconfig=kubeconfig,
        request_seconds=settings.request_timeout,
        snapshot_would_do=False,
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
