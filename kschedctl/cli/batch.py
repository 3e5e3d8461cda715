"""``kschedctl batch``: many cases at once, JSON Lines in and out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from itertools import count
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

    unreadable = print_answers(
        cases,
        kubernetes_version=kubernetes_version,
        feature_gates=gates_by_name,
        jobs=jobs,
        max_unpacked=max_bytes(max_unpacked),
    )
    if unreadable:
        raise typer.Exit(ExitCode.USAGE)


def print_answers(
    path: str,
    *,
    kubernetes_version: str,
    feature_gates: Mapping[str, bool],
    jobs: int,
    max_unpacked: int | None = None,
) -> int:
    """Print the answers to all cases of a file, and return the number of lines that are no case."""
    from kschedctl.analyses.batch.case_file import numbered_lines, opened_cases
    from kschedctl.analyses.batch.decider import Decider, decide_lines
    from kschedctl.cli.streams import say, write
    from kschedctl.text.printable import json_text

    n_unreadable = 0
    decider = Decider(kubernetes_version, feature_gates)
    with opened_cases(path) as stream, _progress(stream) as advance:
        lines = numbered_lines(stream, max_unpacked)
        for text, problem in decide_lines(decider, lines, jobs):
            write(json_text(text) + "\n")
            advance()
            if problem:
                n_unreadable += 1
                say(f"error: {problem}")
    return n_unreadable


@contextmanager
def _progress(stream: BufferedReader) -> Iterator[Callable[[], None]]:
    """Show a bar that moves with the file, if standard error is a terminal and the answers go elsewhere."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    size = os.fstat(stream.fileno()).st_size if stream.seekable() else None
    columns = (BarColumn(), TextColumn("{task.fields[n_cases]} cases"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=size, n_cases=0)
        counter = count(1)

        def advance() -> None:
            completed = stream.tell() if size is not None else None
            progress.update(task, completed=completed, n_cases=next(counter))

        yield advance
