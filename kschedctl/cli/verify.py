"""``kschedctl verify``."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.cluster import DecidingOptions
from kschedctl.cli.options.shared import AllNamespacesOption, OutputOptions, namespace_option
from kschedctl.cli.options.whatif import ClusterWhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def verify(
    *,
    namespace: Annotated[str, namespace_option("Compare pods of this namespace only. Default: all.")] = "",
    all_namespaces: AllNamespacesOption = False,
    sampling: Annotated[
        bool,
        typer.Option(
            "--sampling",
            help="Also compare the nodes of the pods that were scheduled last with the choices of every start of "
            "kube-scheduler's search (percentageOfNodesToScore).",
        ),
    ] = False,
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
    """Compare all answers with the decisions of kube-scheduler, and explain possible differences.

    For every pending pod, the computed message is compared with the one in its PodScheduled condition; for every
    running pod, the filters check whether it would still fit on its node. -o name prints the pods that differ. A
    message that is older than pods that now run is aged, and no difference.

    kube-scheduler does not evict running pods because of later changes, so a rejection that a later change can explain
    is no difference: a cordoned node never is; taints, labels, affinity, spreading, resources, volumes and claims are
    listed with the likely cause. A difference is what no change explains: another message, two pods with the same host
    port or exclusive disk, a pod whose affinity names another node, a rejection by an out-of-tree plugin. Running pods
    that fit without the what-ifs are no difference either.

    With --sampling, up to 100 pods that were scheduled last are decided for again, in the cluster without the pods that
    were bound later. A node that is a best one of a sample is listed with the number of starts that lead to it. A node
    that no start leads to is listed, too, and is no difference: pods that ended since are not in the snapshot.

    The test case of --record is one line of JSON in the input format of batch: {"id", "objects", "pod", "config"}, with
    kube-scheduler's message as "theirs". Names are pseudonyms; read the file before you submit it.

    The exit code is 0 if nothing differs, and 1 if something does.
    """
    for value, flag in ((pod, "--pod"), (force, "--force")):
        if value and not record:
            raise typer.BadParameter("requires --record FILE", param_hint=flag)
    request = cluster.request(what_ifs)

    from dataclasses import replace

    from msgspec import structs

    from kschedctl.cli.command_result import CommandResult
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.verify.analysis import VerifyRequest, as_stored, verify
    from kschedctl.questions.verify.answer import ComparedPodData, RecordedCaseData
    from kschedctl.questions.verify.recording import differing_pod, recorded_case
    from kschedctl.trials.whatif.edits import WhatIfs

    if record:
        _check_target(record, (*request.inputs, *((request.config,) if request.config else ())), force=force)
    handle = TerminalHandle()
    snapshot = request.read(handle)
    before = replace(request, what_ifs=WhatIfs()).over(snapshot, handle) if request.what_ifs.given else None
    loaded = request.require_nodes(request.over(snapshot, handle))
    asked = VerifyRequest(before=before, namespace="" if all_namespaces else namespace, sampling=sampling)
    answer = verify(loaded, asked, handle)
    if record:
        index = differing_pod(loaded.cluster, answer, pod)
        with handle.busy("reducing the case"):
            case = recorded_case(as_stored(loaded).scheduler, index, request.feature_gates)
        _write(record, case, force=force)
        metadata = loaded.pods.records[index].metadata
        named = ComparedPodData(metadata.namespace, metadata.name)
        answer = structs.replace(answer, recorded=RecordedCaseData(record, named, len(case["objects"])))
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
