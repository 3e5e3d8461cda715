"""``kschedctl provision``."""

from typing import TYPE_CHECKING

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.pods import ManifestOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.provision.request import ProvisionRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def provision(
    *,
    which: ManifestOptions,
    request: ProvisionRequest,
    cluster: DecidingOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    of_cluster = cluster.request(what_ifs)

    from kschedctl.autoscaler.catalog import read_catalog
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.manifests import load_with_manifests

    # A wrong catalog is reported before the cluster is read.
    if request.instance_types:
        read_catalog(request.instance_types)
    handle = TerminalHandle()
    loaded = load_with_manifests(which.request(), of_cluster, handle)
    return CommandResult(answer=request.answer(loaded, handle), cluster=loaded)
