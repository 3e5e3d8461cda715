"""``kschedctl capacity``."""

import dataclasses
from typing import TYPE_CHECKING

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.capacity.request import CapacityRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def capacity(
    *,
    which: PodOptions,
    request: CapacityRequest,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    pods = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from kschedctl.cli.command_result import shown_list
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.capacity.analysis import capacity as count_copies
    from kschedctl.questions.capacity.answer import CapacityList

    handle = TerminalHandle()
    loaded, found = pods.load(handle)
    answers = count_copies(loaded, dataclasses.replace(request, pod=tuple(found)), handle)
    return shown_list(CapacityList(items=answers), found, named=pods.named, cluster=loaded)
