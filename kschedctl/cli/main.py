"""The ``kschedctl`` command (also ``kubectl ksched``): its commands, and the one place where errors end."""

from __future__ import annotations

import io
import signal
import sys
import traceback
from typing import Annotated, Any, Final

import typer

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.help import Command, Group
from kschedctl.cli.streams import prepare, report, say, write
from kschedctl.errors import ClusterError, KschedctlError

#: What is wrong with arguments; Typer has no public name for it.
_UsageError: Final[Any] = typer.BadParameter.__base__

#: Plain help: the decorated one would cost more than all the rest of it.
app = typer.Typer(
    name="kschedctl",
    cls=Group,
    help="What would kube-scheduler do with this pod, and why? Offline, exactly.",
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
    """What would kube-scheduler do with this pod, and why? Offline, exactly."""


def run() -> None:
    """Run the command line, and end with its exit code.

    What is wrong with the input is told on standard error; a mistake of our own keeps its traceback.
    """
    prepare()
    sys.exit(_answered())


def _answered() -> int:
    try:
        if sys.stdout is None:
            write("")
        # Typer would write what is wrong with the arguments itself, and fail where that cannot be written.
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
        # A second one would be told with a traceback while Python ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return ExitCode.INTERRUPTED
    except (OSError, MemoryError) as error:
        # The machine's fault, not ours.
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
