"""Standard input and output as the commands use them."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

import typer

from kschedctl.cli.exit_code import ExitCode
from kschedctl.errors import InputError


def write(text: str) -> None:
    """Write to standard output.

    Raises
    ------
    typer.Exit
        Where the reader has gone away (``| head``): that is no error.
    InputError
        Where it cannot be written to, such as a full disk.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_rest()
        raise typer.Exit(ExitCode.BROKEN_PIPE) from None
    except OSError as error:
        _discard_rest()
        raise InputError(f"cannot write: {error.strerror or error}") from None


def _discard_rest() -> None:
    # Python flushes once more at its end, which must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stdin() -> BinaryIO:
    """Standard input as bytes."""
    return sys.stdin.buffer
