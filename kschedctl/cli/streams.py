"""Standard input, output and error as the commands use them. What people read on them holds nothing unseen."""

from __future__ import annotations

import codecs
import os
import sys
from typing import IO, Final

import typer

from kschedctl.cli.exit_code import ExitCode
from kschedctl.errors import InputError, KschedctlError
from kschedctl.findings.finding import Finding
from kschedctl.text.printable import json_escape, printable

_ESCAPING: Final = "kschedctl.escaping"
_CLEAR_LINE: Final = "\r\x1b[K"


def prepare() -> None:
    """Make the streams such as the rest relies on; before anything is written.

    What a stream's encoding lacks is written as an escape of JSON, which makes JSON of JSON and can be read.
    """
    # A file opened later must not become one of the streams that are closed.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    codecs.register_error(_ESCAPING, _escaped)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors=_ESCAPING)  # type: ignore[union-attr]


def write(text: str | bytes) -> None:
    """Write to standard output.

    Raises
    ------
    typer.Exit
        Where the reader has gone away (``| head``): that is no error.
    InputError
        Where it cannot be written to, such as a full disk.
    """
    if sys.stdout is None:
        raise InputError("cannot write: standard output is closed")
    try:
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_rest(sys.stdout)
        raise typer.Exit(ExitCode.BROKEN_PIPE) from None
    except OSError as error:
        _discard_rest(sys.stdout)
        raise InputError(f"cannot write: {error.strerror or error}") from None


def tell(line: str) -> None:
    """Write a line for people to standard output; raises as `write` does."""
    write(f"{printable(line)}\n")


def say(*lines: str) -> None:
    """Write lines for people to standard error.

    Where that is closed or full they are lost, and nothing else is: neither the answer nor the exit code goes by it.
    """
    _to_stderr("".join(f"{printable(line)}\n" for line in lines))


def note(text: str) -> None:
    """Say something that is good to know."""
    say(f"note: {text}")


def warn(text: str) -> None:
    """Say something to be careful about."""
    say(f"warning: {text}")


def warn_of(finding: Finding) -> None:
    """Say on standard error what is wrong and not refused."""
    first, *rest = finding.lines()
    say(f"warning: {first}", *rest)


def report(error: KschedctlError) -> None:
    """Say what is wrong."""
    first, *more = error.lines()
    say(f"error: {first}", *more)


def show_progress(text: str) -> None:
    """Replace the line on the terminal of standard error; an empty text takes it away."""
    _to_stderr(_CLEAR_LINE + printable(text))


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard_rest(sys.stderr)


def _discard_rest(stream: IO[str]) -> None:
    # Python flushes once more at its end, which must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(json_escape, error.object[error.start : error.end])), error.end
