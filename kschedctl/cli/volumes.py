"""``kschedctl volumes``."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli import completion
from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.pods import ScopeOptions
from kschedctl.cli.options.shared import OutputOptions
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.volumes.request import VolumesRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@partial(command, text=VolumesRequest.text())
def volumes(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM|POD",
            autocompletion=completion.claims,
            rich_help_panel=ScopeOptions.title,
            help="NAMESPACE/NAME, pvc/NAME, pod/NAME or NAME in the snapshot, a manifest, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    scope: ScopeOptions,
    cluster: ClusterOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    from kschedctl.cli.command_result import shown_list
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.objects.kinds import joined_names
    from kschedctl.questions.volumes.analysis import volumes
    from kschedctl.questions.volumes.answer import VolumesList
    from kschedctl.questions.volumes.subjects import ClaimRequest

    request = ClaimRequest(
        cluster=cluster.request(what_ifs),
        names=joined_names(names or ()),
        filenames=tuple(scope.filename or ()),
        namespace=scope.namespace,
        all_namespaces=scope.all_namespaces,
        selector=scope.selector,
        validation=scope.validation,
    )
    handle = TerminalHandle()
    loaded, subjects = request.load(handle)
    answers = volumes(loaded, VolumesRequest(subjects=tuple(subjects), by_node=request.named), handle)
    return shown_list(VolumesList(items=answers), subjects, named=request.named, cluster=loaded)
