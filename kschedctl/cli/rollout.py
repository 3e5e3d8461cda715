"""``kschedctl rollout``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.cli.options.workload import WorkloadOptions

if TYPE_CHECKING:
    from kschedctl.cli.shown import Shown


@command
def rollout(
    *,
    which: WorkloadOptions,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> Shown:
    """Bring a new revision of a Deployment or StatefulSet in, step by step: does it finish, and if not, why not.

    The workload's own strategy is followed (maxSurge, maxUnavailable, Recreate, the order and partition of a
    StatefulSet), pods that go take their grace period, and time passes at once. Without -f the template is brought in
    once more, as by kubectl rollout restart. A pod that is bound counts as ready.

    The exit code is 0 where the rollout finishes and 1 where it stands still.
    """
    if not which.workload and not which.filename:
        raise typer.BadParameter("name a workload, such as deploy/web, or give its manifest with -f")
    request = which.request(cluster.request(what_ifs))

    from kschedctl.analyses.rollout import RolloutRequest, rollout
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.shown import Shown

    handle = TerminalHandle()
    loaded, found = request.load(handle)
    return Shown(answer=rollout(loaded, RolloutRequest(workload=found.obj, where=found.where), handle))
