"""``kschedctl capacity``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import PodOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def capacity(
    *,
    which: PodOptions,
    most: Annotated[
        int | None,
        typer.Option(
            "--max", metavar="N", min=1, help="Stop the count after N copies. Default: no limit.", show_default=False
        ),
    ] = None,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    """Count how many more copies of a pod or workload fit, and show their nodes and what stops the next copy.

    The copies are scheduled one after another, each in addition to those before; no pod is evicted for them. Several
    pods are counted independently. Without POD and -f, the pending pods are used.

    If the cluster schedules pod groups, the members of a group are counted by whole groups: a copy of a gang fits if
    all of its pods find a node, in one topology domain if the group has such a constraint.

    The exit code is 0 if at least one more copy of each pod fits, and 1 otherwise.
    """
    request = which.request(cluster.request(what_ifs, admission=not which.no_admission))

    from kschedctl.cli.command_result import shown_list
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.capacity.analysis import CapacityRequest, capacity
    from kschedctl.questions.capacity.answer import CapacityList

    handle = TerminalHandle()
    loaded, pods = request.load(handle)
    answers = capacity(loaded, CapacityRequest(pods=tuple(pods), most=most), handle)
    return shown_list(CapacityList(items=answers), pods, named=request.named, cluster=loaded)
