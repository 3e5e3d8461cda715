"""The ``kschedctl`` command (also ``kubectl ksched``): its commands, and the one place where errors end."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.exit_code import ExitCode
from kschedctl.errors import ClusterError, KschedctlError

#: Plain help: the decorated one would cost more than all the rest of it.
app = typer.Typer(
    name="kschedctl",
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
        app.command(name=_name)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kschedctl {version('kschedctl')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What would kube-scheduler do with this pod, and why? Offline, exactly."""


def run() -> None:
    """Run the command line: the entry point of both scripts.

    What is wrong with the input is told on standard error; a mistake of our own keeps its traceback.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        print("error: cannot write: standard output is closed", file=sys.stderr)
        sys.exit(ExitCode.USAGE)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark instead of an error.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except KschedctlError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(ExitCode.INCOMPLETE if isinstance(error, ClusterError) else ExitCode.USAGE)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception:
        traceback.print_exc()
        print(
            "error: this is a bug in kschedctl, not in your input: please report it with the lines above, "
            "the command and, if you can, the input",
            file=sys.stderr,
        )
        sys.exit(ExitCode.BUG)
