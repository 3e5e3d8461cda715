"""``kschedctl snapshot``: its options, and those of ``snapshot info``."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.help import Command, Group
from kschedctl.cli.options.cluster import SourceOptions
from kschedctl.cli.options.group import unfolded
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.options.shared import MaxUnpackedOption, max_bytes
from kschedctl.cli.options.whatif import ClusterWhatIfOptions
from kschedctl.report.render.form import Reply

app = typer.Typer(
    cls=Group,
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
        typer.Option("--output", "-o", metavar="FILE.tar.gz|DIR", help="Where to write it.", show_default=False),
    ] = "",
    anonymize: Annotated[
        bool,
        typer.Option("--anonymize", help="Replace names, labels and images by pseudonyms that keep all decisions."),
    ] = False,
    mapping: Annotated[
        str,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="With --anonymize: write what the pseudonyms stand for.",
            show_default=False,
        ),
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace a snapshot, or a file of --mapping, that is there already.")
    ] = False,
    source: SourceOptions,
    what_ifs: ClusterWhatIfOptions,
) -> None:
    """Write the cluster into files that --snapshot reads, or say what is in such files.

    They hold what scheduling reads and nothing else: no Secrets, environment, arguments, commands and no annotations
    that scheduling does not look at; docs/promises.md lists every field. With --anonymize they can go into a bug
    report: names, namespaces, labels, images and volumes are replaced by pseudonyms, and every decision stays the same
    up to the renaming. --mapping keeps the way back.
    """
    if ctx.invoked_subcommand is not None:
        return
    if not target:
        raise typer.BadParameter("say where to write it: FILE.tar.gz or DIR", param_hint="--output")
    if target == "-":
        raise typer.BadParameter(
            "a snapshot is not written to standard output: give FILE.tar.gz or DIR", param_hint="--output"
        )
    if mapping and not anonymize:
        raise typer.BadParameter("only with --anonymize", param_hint="--mapping")
    if mapping == "-":
        raise typer.BadParameter("the names are not written to standard output: name a file", param_hint="--mapping")
    chosen = source.source()

    from kschedctl.cli.snapshot.run import write_snapshot

    write_snapshot(chosen, what_ifs, target, anonymize=anonymize, mapping=mapping, force=force)


@app.command(cls=Command)
@command
def info(
    *,
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files, folders or archives, as for --snapshot.")
    ],
    max_unpacked: MaxUnpackedOption = "",
    output: OutputOptions,
) -> Reply:
    """Say what is in a snapshot: kinds and numbers, version, age, and whether it is anonymised."""
    from kschedctl.cli.snapshot.info import SnapshotInfoReply

    return SnapshotInfoReply(paths, max_bytes(max_unpacked))
