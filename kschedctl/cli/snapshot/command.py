"""``kschedctl snapshot``: a cluster into files, and what is in such files."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.options.declared import ContextOption, KubeconfigOption, SnapshotOption, snapshot_paths

app = typer.Typer(
    help="Write the cluster into files that --snapshot reads, or say what is in such files.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def snapshot(
    ctx: typer.Context,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE.tar.gz|DIR", help="Where to write it.", show_default=False),
    ] = "",
    anonymize: Annotated[
        bool,
        typer.Option("--anonymize", help="Replace names, labels and images by pseudonyms that keep all decisions."),
    ] = False,
    source: SnapshotOption = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
) -> None:
    """Write the cluster into files that --snapshot reads.

    They hold what scheduling reads and nothing else: no Secrets, environment, arguments, commands and no annotations
    that scheduling does not look at. With --anonymize they can go into a bug report: names, namespaces, labels, images
    and volumes are replaced by pseudonyms, and every decision stays the same up to the renaming.
    """
    if ctx.invoked_subcommand is not None:
        return
    if not output:
        raise typer.BadParameter("say where to write it: FILE.tar.gz or DIR", param_hint="--output")
    if output == "-":
        raise typer.BadParameter(
            "a snapshot is not written to standard output: give FILE.tar.gz or DIR", param_hint="--output"
        )
    paths = snapshot_paths(source, context, kubeconfig)

    from kschedctl.cli.snapshot.run import write_snapshot

    write_snapshot(paths, context, kubeconfig, output, anonymize=anonymize)


@app.command()
def info(
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files, folders or archives, as for --snapshot.")
    ],
) -> None:
    """Say what is in a snapshot: kinds and numbers, version, age, and whether it is anonymised."""
    from kschedctl.cli.snapshot.run import print_info

    print_info(paths)
