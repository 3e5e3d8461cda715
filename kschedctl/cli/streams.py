"""Standard input, output and error of the commands. Text for people on them has no invisible characters."""

import codecs
import os
import shutil
import sys
from enum import IntEnum, StrEnum
from typing import IO, TYPE_CHECKING, Final, Literal, NamedTuple, TextIO

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.text.characters import json_escape, printable

if TYPE_CHECKING:
    from kschedctl.common.findings import Finding
    from kschedctl.output.forms import Console

# The exit codes of the program.


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    YES = 0
    NO = 1
    USAGE = 2
    INCOMPLETE = 3
    BUG = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


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


def write(text: str) -> None:
    """Write to standard output.

    Raises typer.Exit if the reader has closed the pipe (``| head``): that is no error.
    Raises InputError if the output cannot be written, for example to a full disk.
    """
    if sys.stdout is None:
        raise InputError("cannot write: standard output is closed")
    try:
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


def warn_of(finding: "Finding") -> None:
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


# The console for text answers: a terminal with its width, or a pipe without wrapping.

#: The width if none is known: text is not wrapped.
_NO_WIDTH: Final = 100_000
#: The environment variables by which users ask for the output of a terminal.
_FORCING: Final = ("FORCE_COLOR", "TTY_COMPATIBLE")


class ColorWhen(StrEnum):
    """The values of ``--color``; named as in git and grep."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Pipe(NamedTuple):
    """A file or pipe as a console, without rich, whose import takes as long as the decision for a pod."""

    width: int
    file: TextIO
    color_system: None = None
    is_terminal: bool = False

    @property
    def encoding(self) -> str:
        """The encoding, in lower case."""
        return (self.file.encoding or "utf-8").lower()


def open_console(when: ColorWhen) -> "Console":
    """Return standard output as a console.

    Args:
        when: The use of colours; with ``AUTO``, colours are used on a terminal that supports them unless NO_COLOR
            is set.
    """
    # COLUMNS=0 means no width, as does the size reported for a pipe.
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    always = when is ColorWhen.ALWAYS
    if not (always or sys.stdout.isatty() or any(os.environ.get(name) for name in _FORCING)):
        return Pipe(width, sys.stdout)
    from rich.console import Console as RichConsole

    # Without colours there is no bold text either: only plain characters are written.
    plain = when is ColorWhen.NEVER or (when is ColorWhen.AUTO and bool(os.environ.get("NO_COLOR")))
    system: Literal["auto", "standard"] | None = None if plain else "standard" if always else "auto"
    # --color=always overrides NO_COLOR.
    return RichConsole(
        width=width,
        color_system=system,
        force_terminal=True if always else None,
        no_color=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
