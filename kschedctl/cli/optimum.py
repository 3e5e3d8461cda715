"""``kschedctl optimum``."""

from typing import TYPE_CHECKING

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import ManifestOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.optimum.request import OptimumRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def optimum(
    *,
    which: ManifestOptions,
    request: OptimumRequest,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    of_cluster = cluster.request(what_ifs)

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.manifests import load_with_manifests
    from kschedctl.trials.optimum.program import load_solver
    from kschedctl.trials.optimum.purchase import read_catalog

    # A missing solver and a wrong catalog are reported before the cluster is read.
    load_solver()
    if request.buy:
        read_catalog(request.buy)
    handle = TerminalHandle()
    loaded = load_with_manifests(which.request(), of_cluster, handle)
    return CommandResult(answer=request.answer(loaded, handle), cluster=loaded)
