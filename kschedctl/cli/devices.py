"""``kschedctl devices``."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.completion import device_subjects
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.shared import AllNamespacesOption, OutputOptions, namespace_option
from kschedctl.cli.options.whatif import WhatIfOptions
from kschedctl.questions.devices.request import DevicesRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@partial(command, text=DevicesRequest.text())
def devices(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM|CLASS",
            help="NAMESPACE/NAME, claim/NAME or NAME of a ResourceClaim; class/NAME or NAME of a DeviceClass.",
            show_default=False,
            autocompletion=device_subjects,
        ),
    ] = None,
    namespace: Annotated[str, namespace_option("Namespace of the claims. Default: as for kubectl.")] = "",
    all_namespaces: AllNamespacesOption = False,
    cluster: ClusterOptions,
    what_ifs: WhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.objects.kinds import joined_names
    from kschedctl.questions.devices.analysis import devices
    from kschedctl.questions.devices.answer import DevicesList
    from kschedctl.questions.pod_selection import NamespaceScope
    from kschedctl.questions.volumes.subjects import device_subject

    handle = TerminalHandle()
    request = cluster.request(what_ifs)
    loaded = request.load(handle)
    scope = NamespaceScope.of(namespace, request.source, everywhere=all_namespaces)
    subjects = tuple(device_subject(loaded, name, scope) for name in joined_names(names or ()))
    answers = devices(loaded, DevicesRequest(subjects=subjects), handle)
    answer = answers[0] if len(answers) == 1 else DevicesList(items=answers)
    return CommandResult(answer=answer, cluster=loaded)
