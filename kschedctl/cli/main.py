"""The ``kschedctl`` command (also ``kubectl ksched``): its subcommands, and the single place that handles errors."""

from __future__ import annotations

import io
import signal
import sys
import traceback
from typing import Annotated, Any, Final

import typer

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.help import Command, CommandGroup
from kschedctl.cli.streams import prepare, report, say, write
from kschedctl.errors import ClusterError, KschedctlError

#: The base class of errors in arguments; Typer has no public name for it.
_UsageError: Final[Any] = typer.BadParameter.__base__

#: Plain help: Typer's rich help would take more time than everything else in the help.
app = typer.Typer(
    name="kschedctl",
    cls=CommandGroup,
    help="Run the kube-scheduler algorithm offline, and explain exactly what it would do with a pod and why.",
    epilog="Exit codes: 0 it would be scheduled, 1 it would not, 2 bad input or usage, "
    "3 the cluster cannot be reached or, with --strict, the answer is incomplete.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for _name, _command in COMMANDS.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(name=_name, cls=Command)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        write(f"kschedctl {version('kschedctl')}\n")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run the kube-scheduler algorithm offline, and explain exactly what it would do with a pod and why."""


def run() -> None:
    """Run the command line, and exit with its exit code.

    Errors in the input are printed to standard error; an internal error is printed with its traceback.
    """
    prepare()
    sys.exit(_answered())


def _answered() -> int:
    try:
        if sys.stdout is None:
            write("")
        # In standalone mode Typer would print usage errors itself, and fail if standard error cannot be written.
        return app(standalone_mode=False) or ExitCode.YES
    except typer.Exit as ended:
        return ended.exit_code
    except _UsageError as error:
        text = io.StringIO()
        error.show(file=text)
        say(*text.getvalue().splitlines())
        return ExitCode.USAGE
    except KschedctlError as error:
        report(error)
        return ExitCode.INCOMPLETE if isinstance(error, ClusterError) else ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        # A second Ctrl-C would print a traceback while Python exits.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say("interrupted")
        return ExitCode.INTERRUPTED
    except (OSError, MemoryError) as error:
        # The cause is the machine, not a bug.
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        problem = "not enough memory" if isinstance(error, MemoryError) else error.strerror or str(error)
        say(f"error: {where}{problem}")
        return ExitCode.USAGE
    except Exception:
        say(
            *traceback.format_exc().splitlines(),
            "error: this is a bug in kschedctl, not in your input: please report it with the lines above, "
            "the command and, if you can, the input",
        )
        return ExitCode.BUG
