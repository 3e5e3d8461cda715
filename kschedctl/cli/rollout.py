"""``kschedctl rollout``."""

from typing import TYPE_CHECKING

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import WorkloadOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def rollout(
    *, which: WorkloadOptions, cluster: DecidingOptions, what_ifs: WhatIfOptions, output: OutputOptions
) -> "CommandResult":
    """Simulate the rollout of a Deployment or StatefulSet step by step, and report whether it finishes or why not.

    The workload's own strategy applies (maxSurge, maxUnavailable, Recreate, the order and partition of a StatefulSet),
    pods that are deleted take their grace period, and time is simulated. Without -f the current template is rolled out
    again, as by kubectl rollout restart. A pod counts as ready as soon as it is bound and its ReadWriteOnce volumes are
    attached to no other node.

    The exit code is 0 if the rollout finishes, and 1 if it gets stuck.
    """
    if not which.workload and not which.filename:
        raise typer.BadParameter("name a workload, such as deploy/web, or give its manifest with -f")
    request = which.request(cluster.request(what_ifs))

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.rollout.analysis import RolloutRequest, rollout

    handle = TerminalHandle()
    loaded, found = request.load(handle)
    return CommandResult(
        answer=rollout(loaded, RolloutRequest(workload=found.obj, where=found.where), handle), cluster=loaded
    )
