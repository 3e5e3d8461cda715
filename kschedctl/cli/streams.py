"""Standard input and output as the commands use them."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

import typer

from kschedctl.cli.exit_code import ExitCode


def write(text: str) -> None:
    """Write to standard output.

    Raises
    ------
    typer.Exit
        Where the reader has gone away (``| head``): that is no error.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitCode.BROKEN_PIPE) from None


def stdin() -> BinaryIO:
    """Standard input as bytes."""
    return sys.stdin.buffer
