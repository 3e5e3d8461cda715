"""``kschedctl batch``: many cases at once, JSON Lines in and out."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.options.shared import GatesOption, MaxUnpackedOption, feature_gates, max_bytes, version_option


def batch(
    cases: Annotated[
        str, typer.Argument(metavar="CASES", help="JSON Lines, also as .gz; - is standard input.", show_default=False)
    ] = "-",
    kubernetes_version: Annotated[
        str,
        version_option("--kubernetes-version", "Whose rules apply. Default: those of the newest release."),
    ] = "",
    gates: GatesOption = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", min=0, help="How many processes; 0 is one per core.")
    ] = 0,
    max_unpacked: MaxUnpackedOption = "",
) -> None:
    """Decide many cases: {"id", "objects", "pod", "config"} per line in, an answer per line out, in order.

    With "pods" (a list, in the order of creation) instead of "pod", they go through the scheduler's queue one after
    another, and the answer has every attempt; "choices" ({pod: [node, ...]}) settles chance.

    A case that cannot be read is answered with its error; a line that is no case at all is answered with its number
    and an error, and the exit code is 2. No admission is run on the pods: their priority is given.
    """
    gates_by_name = feature_gates(gates)
    from kschedctl.cli.batch.run import run_batch

    unreadable = run_batch(
        cases,
        kubernetes_version=kubernetes_version,
        feature_gates=gates_by_name,
        jobs=jobs,
        max_unpacked=max_bytes(max_unpacked),
    )
    if unreadable:
        raise typer.Exit(ExitCode.USAGE)
