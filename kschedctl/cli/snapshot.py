"""``kschedctl snapshot``, and ``snapshot info``."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.completion import SNAPSHOT_VARIABLE, snapshot_paths
from kschedctl.cli.help import Command, CommandGroup
from kschedctl.cli.options.cluster import SourceOptions
from kschedctl.cli.options.declared import unfolded
from kschedctl.cli.options.shared import ClusterOption, MaxUnpackedOption, OutputOptions, max_bytes
from kschedctl.cli.options.whatif import ClusterWhatIfOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.questions.cluster_request import ClusterSource
    from kschedctl.trials.whatif.edits import WhatIfs

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
@unfolded
def snapshot(
    *,
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE.tar.gz|DIR", help="File or folder to write.", show_default=False),
    ] = "",
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize", help="Replace names, labels and images by pseudonyms; all decisions stay the same."
        ),
    ] = False,
    mapping: Annotated[
        str,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="With --anonymize: write the original names of the pseudonyms to this file.",
            show_default=False,
        ),
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing snapshot, or an existing file of --mapping.")
    ] = False,
    source: SourceOptions,
    what_ifs: ClusterWhatIfOptions,
) -> None:
    """Write the cluster to a snapshot for --snapshot, or show what a snapshot contains.

    A snapshot contains only what scheduling reads: no Secrets, environment variables, arguments or commands, and no
    annotations that scheduling does not use; docs/promises.md lists every field. With --anonymize it can be attached to
    a bug report: names, namespaces, labels, images and volumes are replaced by pseudonyms, and every decision stays the
    same apart from the names. --mapping saves the original names.
    """
    if ctx.invoked_subcommand is not None:
        return
    if not target:
        raise typer.BadParameter("name the target: FILE.tar.gz or DIR", param_hint="--output")
    if target == "-":
        raise typer.BadParameter(
            "a snapshot is not written to standard output: give FILE.tar.gz or DIR", param_hint="--output"
        )
    if mapping and not anonymize:
        raise typer.BadParameter("requires --anonymize", param_hint="--mapping")
    if mapping == "-":
        raise typer.BadParameter("the names are not written to standard output: name a file", param_hint="--mapping")
    _write(source.source(), what_ifs.request(), target, anonymize=anonymize, mapping=mapping, force=force)


@app.command(cls=Command)
@partial(command, name="snapshot info")
def info(
    *,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="Files, folders or archives, as for --snapshot.")
    ] = None,
    snapshot: Annotated[
        list[str] | None,
        typer.Option("--snapshot", metavar="PATH", help=f"Same as FILE. Default: ${SNAPSHOT_VARIABLE}."),
    ] = None,
    cluster: ClusterOption = "",
    max_unpacked: MaxUnpackedOption = "",
    output: OutputOptions,
) -> "CommandResult":
    """Show what a snapshot contains: kinds and object counts, version, age, and whether it is anonymised."""
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.questions.snapshot.analysis import snapshot_info

    named = [*(paths or ()), *(snapshot_paths(snapshot or None, live=bool(paths)))]
    if not named:
        raise typer.BadParameter("name a file, a folder or an archive", param_hint="FILE")
    return CommandResult(answer=snapshot_info(named, max_bytes(max_unpacked), cluster))


def _write(
    source: "ClusterSource", what_ifs: "WhatIfs", target: str, *, anonymize: bool, mapping: str, force: bool
) -> None:
    """Capture a cluster and write it to ``target``, and the original names of pseudonyms to ``mapping``.

    Raises KschedctlError if the cluster cannot be read or the files cannot be written.
    """
    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.cli.streams import tell
    from kschedctl.common.wording import counted
    from kschedctl.questions.snapshot.analysis import captured_cluster
    from kschedctl.sources.snapshot.anonymize import check_mapping, with_pseudonyms, write_mapping
    from kschedctl.sources.snapshot.capture import check_target, write_capture
    from kschedctl.trials.completeness import refusals

    check_target(target, force=force)
    if mapping:
        check_mapping(mapping, target, force=force)
    handle = TerminalHandle()
    captured = captured_cluster(source, what_ifs, handle)
    if anonymize:
        captured, originals = with_pseudonyms(captured)
        if mapping:
            write_mapping(originals, mapping)
    write_capture(captured, target, force=force)
    header = captured.header
    kept = [f"{counted(header.kinds.get('Node', 0), 'node')}, {counted(header.kinds.get('Pod', 0), 'pod')}"]
    kept.append(f"{sum(header.kinds.values())} objects in total")
    tell(f"{target}: {', '.join(kept)}{', anonymised' if header.anonymized else ''}")
    if mapping:
        tell(f"{mapping}: the original names of the pseudonyms; keep this file private")
    for warning in refusals(header.not_listed, header.listed_in):
        handle.warn(warning)
    for lack in captured.unread:
        handle.warn(f"{lack.what}: its contents are not in the snapshot")
    if captured.scheduler_config_left_out:
        handle.warn("the scheduler configuration of the snapshot is not written: give it again with --config")
