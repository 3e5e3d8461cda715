"""Standard input, output and error of the commands. Text for people on them has no invisible characters."""

from __future__ import annotations

import codecs
import os
import sys
from typing import IO, Final

from kschedctl.cli.exit_code import ExitCode
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.findings import Finding
from kschedctl.common.text.characters import json_escape, printable

#: The error handler for characters that an encoding lacks: they are written as JSON escapes.
ESCAPING: Final = "kschedctl.escaping"
_CLEAR_LINE: Final = "\r\x1b[K"


def prepare() -> None:
    """Configure standard output and error. Call before writing anything.

    Characters that the encoding of a stream lacks are written as JSON escapes: JSON stays valid, and text readable.
    """
    # A file that is opened later must not get the descriptor of a closed standard stream.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    codecs.register_error(ESCAPING, _escaped)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors=ESCAPING)  # type: ignore[union-attr]


def write(text: str | bytes) -> None:
    """Write to standard output.

    Raises
    ------
    typer.Exit
        If the reader has closed the pipe (``| head``): that is no error.
    InputError
        If the output cannot be written, for example to a full disk.
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
        # Imported here because not every answer needs it otherwise.
        import typer

        raise typer.Exit(ExitCode.BROKEN_PIPE) from None
    except OSError as error:
        _discard_rest(sys.stdout)
        raise InputError(f"cannot write: {error.strerror or error}") from None


def tell(line: str) -> None:
    """Write a line for people to standard output; raises the errors of ``write``."""
    write(f"{printable(line)}\n")


def say(*lines: str) -> None:
    """Write lines for people to standard error.

    If standard error is closed or full, the lines are lost; the answer and the exit code are not affected.
    """
    _to_stderr("".join(f"{printable(line)}\n" for line in lines))


def note(text: str) -> None:
    """Write a note to standard error."""
    say(f"note: {text}")


def warn(text: str) -> None:
    """Write a warning to standard error."""
    say(f"warning: {text}")


def warn_of(finding: Finding) -> None:
    """Write a finding as a warning to standard error."""
    first, *rest = finding.lines()
    say(f"warning: {first}", *rest)


def report(error: KschedctlError) -> None:
    """Write an error to standard error."""
    first, *more = error.lines()
    say(f"error: {first}", *more)


def show_progress(text: str) -> None:
    """Replace the progress line on standard error; an empty text clears it."""
    _to_stderr(_CLEAR_LINE + printable(text))


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard_rest(sys.stderr)


def _discard_rest(stream: IO[str]) -> None:
    # Python flushes the stream again on exit, which must not fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(json_escape, error.object[error.start : error.end])), error.end
