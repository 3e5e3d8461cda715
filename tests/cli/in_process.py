"""The command line within this process: what it prints and its exit code, as a process of its own would have them."""

from __future__ import annotations

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
    """Run a command.

    Parameters
    ----------
    *arguments : str
        What follows ``kschedctl``.
    columns : int
        The width of the terminal; 0 where there is none.
    encoding : str
        Of standard output and standard error.
    folder : Path, optional
        Where it runs, if not here.
    given : bytes
        What it reads from standard input.
    environment : mapping of str to str, optional
        All of its environment, if not that of the tests and ``columns``.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    with (
        patch.dict(os.environ, environment or {"COLUMNS": str(columns)}, clear=environment is not None),
        # A process takes the options of all commands apart once.
        patch.object(typer.main, "get_command", _get_command),
        # By these two a program knows its name.
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
