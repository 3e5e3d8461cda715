"""``kschedctl batch``: many cases at once, JSON Lines in and out."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from itertools import count
from typing import Annotated

import typer

from kschedctl.cli.options.shared import GatesOption, MaxUnpackedOption, feature_gates, max_bytes, version_option
from kschedctl.cli.streams import ExitCode


def batch(
    cases: Annotated[
        str,
        typer.Argument(
            metavar="CASES",
            help="The cases as JSON Lines, optionally compressed as .gz; - reads standard input.",
            show_default=False,
        ),
    ] = "-",
    kubernetes_version: Annotated[
        str,
        version_option(
            "--kubernetes-version", "Kubernetes release whose rules apply. Default: the newest published release."
        ),
    ] = "",
    gates: GatesOption = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Number of processes; 0 means one per core.")
    ] = 0,
    max_unpacked: MaxUnpackedOption = "",
) -> None:
    """Decide many cases: read one {"id", "objects", "pod", "config"} per line, print one answer per line, in order.

    With "pods" (a list, in the order of creation) instead of "pod", the pods go through the scheduling queue one after
    another, and the answer has every scheduling attempt; "choices" ({pod: [node, ...]}) sets the result of
    tie-breaking.

    A case that is invalid is answered with its error; a line that is not a case at all is answered with its line number
    and an error, and the exit code is 2. Admission is not run on the pods: their priority must be set.
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
    path: str, *, kubernetes_version: str, feature_gates: Mapping[str, bool], jobs: int, max_unpacked: int | None = None
) -> int:
    """Print the answers to all cases of a file, and return the number of lines that are not a case."""
    from kschedctl.cli.streams import say, write
    from kschedctl.common.text.characters import json_text
    from kschedctl.questions.batch.analysis import Decider, decide_lines, numbered_lines, opened_cases

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
    """Show a progress bar for the file, if standard error is a terminal and standard output is not."""
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
