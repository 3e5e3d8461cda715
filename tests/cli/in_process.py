"""The command line within this process, with the output and exit code of a separate process."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import typer.main

from kschedctl.cli import main
from kschedctl.questions import frame

#: The age of every snapshot, whose length decides where lines are wrapped.
AGE = "3 min ago"


class Printed(NamedTuple):
    code: int
    out: str
    err: str


_get_command = cache(typer.main.get_command)


def run(
    *arguments: str,
    columns: int = 0,
    encoding: str = "utf-8",
    folder: Path | None = None,
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> Printed:
    """Run a command and return its exit code and output.

    Parameters
    ----------
    *arguments : str
        The arguments after ``kschedctl``.
    columns : int
        The width of the terminal; 0 for no terminal.
    encoding : str
        The encoding of standard output and standard error.
    folder : Path, optional
        The working directory; the default is the current one.
    given : bytes
        The standard input.
    environment : mapping of str to str, optional
        The whole environment; the default is that of the tests with ``columns``.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    with (
        patch.dict(os.environ, environment or {"COLUMNS": str(columns)}, clear=environment is not None),
        # Building the commands from their options is slow, so it is cached over all runs.
        patch.object(typer.main, "get_command", _get_command),
        patch.object(frame, "age", return_value=AGE),
        # A program derives its name from these two.
        patch.object(sys.modules["__main__"], "__package__", None),
        patch.object(sys, "argv", ["kschedctl", *arguments]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given))),
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(folder or "."),
    ):
        try:
            main.run()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Printed(code, *(stream.buffer.getvalue().decode(encoding) for stream in (out, err)))
