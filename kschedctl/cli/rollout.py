"""``kschedctl rollout``."""

from functools import partial
from typing import TYPE_CHECKING

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import WorkloadOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.rollout.request import RolloutRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@partial(command, text=RolloutRequest.text())
def rollout(
    *, which: WorkloadOptions, cluster: DecidingOptions, what_ifs: WhatIfOptions, output: OutputOptions
) -> "CommandResult":
    request = which.request(cluster.request(what_ifs))

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle

    handle = TerminalHandle()
    loaded, found = request.load(handle)
    return CommandResult(answer=RolloutRequest(found.obj, where=found.where).answer(loaded, handle), cluster=loaded)
