"""``kschedctl verify``."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.shared import AllNamespacesOption, OutputOptions
from kschedctl.cli.options.whatif import ClusterWhatIfOptions
from kschedctl.questions.verify.request import VerifyRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def verify(
    *,
    request: VerifyRequest,
    all_namespaces: AllNamespacesOption = False,
    record: Annotated[
        str,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Write a pod that differs as a test case for a bug report: the objects that its answer "
            "depends on, with pseudonyms.",
            show_default=False,
        ),
    ] = "",
    pod: Annotated[
        str,
        typer.Option(
            "--pod",
            metavar="NAMESPACE/NAME",
            help="With --record: the pod to write. Default: the first one that differs.",
            show_default=False,
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="With --record: replace an existing file.")] = False,
    cluster: DecidingOptions,
    what_ifs: ClusterWhatIfOptions,
    output: OutputOptions,
) -> "CommandResult":
    for value, flag in ((pod, "--pod"), (force, "--force")):
        if value and not record:
            raise typer.BadParameter("requires --record FILE", param_hint=flag)
    of_cluster = cluster.request(what_ifs)

    from dataclasses import replace

    import msgspec

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.verify.analysis import as_stored
    from kschedctl.questions.verify.answer import ComparedPodData, RecordedCaseData
    from kschedctl.questions.verify.recording import differing_pod, recorded_case
    from kschedctl.trials.whatif.edits import WhatIfs

    if record:
        _check_target(record, (*of_cluster.inputs, *((of_cluster.config,) if of_cluster.config else ())), force=force)
    handle = TerminalHandle()
    snapshot = of_cluster.read(handle)
    before = replace(of_cluster, what_ifs=WhatIfs()).over(snapshot, handle) if of_cluster.what_ifs.given else None
    loaded = of_cluster.require_nodes(of_cluster.over(snapshot, handle))
    asked = replace(request, before=before, namespace="" if all_namespaces else request.namespace)
    answer = asked.answer(loaded, handle)
    if record:
        index = differing_pod(loaded.cluster, answer, pod)
        with handle.busy("reducing the case"):
            case = recorded_case(as_stored(loaded).scheduler, index, of_cluster.feature_gates)
        _write(record, case, force=force)
        metadata = loaded.pods.records[index].metadata
        named = ComparedPodData(metadata.namespace, metadata.name)
        answer = msgspec.structs.replace(answer, recorded=RecordedCaseData(record, named, len(case["objects"])))
    return CommandResult(answer=answer)


def _check_target(path: str, inputs: Iterable[str], *, force: bool) -> None:
    """Check that the file can be written, before a cluster is read; input files are never overwritten.

    Raises InputError if the file cannot be written.
    """
    from pathlib import Path

    from kschedctl.common.errors import InputError

    target = Path(path).resolve()
    for name in inputs:
        read = Path(name).resolve()
        if target == read or (read.is_dir() and target.is_relative_to(read)):
            raise InputError("is part of the input", where=path, hint="name another file")
    if not target.parent.is_dir():
        raise InputError("the folder does not exist", where=str(Path(path).parent))
    if target.is_dir() or (target.exists() and not force):
        hint = "name another file" if target.is_dir() else "name another file, or give --force to replace it"
        raise InputError("already exists", where=path, hint=hint)


def _write(path: str, case: object, *, force: bool) -> None:
    import json

    from kschedctl.common.errors import InputError

    text = json.dumps(case, separators=(",", ":"), ensure_ascii=False) + "\n"
    try:
        with open(path, "w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=path) from None
