"""The exit of the program: its exit code, and the single place that handles errors."""

import gc
import re
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, Final, NoReturn

import kschedctl
from kschedctl.cli.streams import ExitCode, prepare, report, say, write
from kschedctl.common.errors import ClusterError, KschedctlError
from kschedctl.common.text.patterns import pattern

# Messages of the library that reads the arguments.
_WORDS: Final = {
    "Input should be less than or equal to": "is more than",
    "Input should be greater than or equal to": "is less than",
    "Input should be a valid integer.*": "is not a whole number",
    "Input should be a valid number.*": "is not a number",
}
_COMMAND: Final = pattern(r"No such command '(.*?)'\..*", re.DOTALL)
_EXTRA: Final = pattern(r"Got unexpected extra argument\S* \((.*)\)\.?", re.DOTALL)


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
        say(*_usage_lines(error))
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


def _usage_lines(error: Any) -> list[str]:
    """Return the lines of an error in arguments, in the form of all errors: the problem, then what to do."""
    # The classes of these errors have no public names in typer.
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        return str(error.format_message()).splitlines()
    if kind == "NoSuchOption":
        problem = f"there is no option {error.option_name}"
    elif kind == "BadOptionUsage":
        is_missing = error.message.endswith("requires an argument.")
        problem = f"{error.option_name}: {'a value is missing' if is_missing else 'takes no value'}"
    elif hasattr(error, "param_hint"):
        name = error.param_hint or (error.param and max(error.param.opts, key=len)) or ""
        if not error.param_hint and getattr(error.param, "param_type_name", "") == "argument":
            name = error.param.metavar.removesuffix("...")
        message = error.message
        for words, ours in _WORDS.items():
            message = re.sub(words, ours, message)
        problem = ": ".join(filter(None, (name, message))) if message else f"{name} is missing"
    elif known := _COMMAND.fullmatch(error.message):
        problem = f"there is no command {known[1]}"
    elif extra := _EXTRA.fullmatch(error.message):
        problem = f"unexpected: {extra[1]}"
    else:
        problem = f"{error.message[:1].lower()}{error.message[1:].rstrip('.')}"
    close = list(getattr(error, "possibilities", None) or ())
    if problem.startswith("there is no command"):
        from kschedctl.common.wording import similar

        close = similar(problem.rpartition(" ")[2], error.ctx.command.commands)
    hints = [f"  did you mean {' or '.join(sorted(close))}?"] if close else []
    if error.ctx is not None:
        hints.append(f"  see {error.ctx.command_path} {error.ctx.help_option_names[0]}")
    return [f"error: {problem}", *hints]


def _interrupted() -> int:
    # A second Ctrl-C would print a traceback while Python exits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say("interrupted")
    return ExitCode.INTERRUPTED


def print_version() -> None:
    """Print the name and the version of the program."""
    write(f"kschedctl {kschedctl.__version__}\n")
