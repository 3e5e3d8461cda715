"""The exit of the program: its exit code, and the single place that handles errors."""

import gc
import io
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import kschedctl
from kschedctl.cli.streams import ExitCode, prepare, report, say, write
from kschedctl.common.errors import ClusterError, KschedctlError


def exit_with(answer: Callable[[], int | None]) -> NoReturn:
    """Run a function that answers, and exit with its exit code.

    Errors in the input are printed to standard error; an internal error is printed with its traceback.
    """
    prepare()
    code = _answered(answer)
    # While Python exits, it would search all objects for garbage several times.
    gc.freeze()
    sys.exit(code)


def _answered(answer: Callable[[], int | None]) -> int:
    try:
        if sys.stdout is None:
            write("")
        return answer() or ExitCode.YES
    except Exception as error:
        return _reported(error)
    except KeyboardInterrupt:
        return _interrupted()


def _reported(error: Exception) -> int:
    """Report the error that is being handled, and return the exit code."""
    # Imported here because an answer without an error may need no typer.
    import typer

    # The base class of errors in arguments; typer has no public name for it.
    usage_error: Any = typer.BadParameter.__base__
    if isinstance(error, typer.Exit):
        return error.exit_code
    if isinstance(error, typer.Abort):
        return _interrupted()
    if isinstance(error, usage_error):
        text = io.StringIO()
        error.show(file=text)
        say(*text.getvalue().splitlines())
        return ExitCode.USAGE
    if isinstance(error, KschedctlError):
        report(error)
        return ExitCode.INCOMPLETE if isinstance(error, ClusterError) else ExitCode.USAGE
    if isinstance(error, OSError | MemoryError):
        # The cause is the machine, not a bug.
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        problem = "not enough memory" if isinstance(error, MemoryError) else error.strerror or str(error)
        say(f"error: {where}{problem}")
        return ExitCode.USAGE
    say(
        *traceback.format_exc().splitlines(),
        "error: this is a bug in kschedctl, not in your input: please report it with the lines above, "
        "the command and, if you can, the input",
    )
    return ExitCode.BUG


def _interrupted() -> int:
    # A second Ctrl-C would print a traceback while Python exits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say("interrupted")
    return ExitCode.INTERRUPTED


def print_version() -> None:
    """Print the name and the version of the program."""
    write(f"kschedctl {kschedctl.__version__}\n")
