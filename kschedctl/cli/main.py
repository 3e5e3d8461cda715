"""The ``kschedctl`` command (also ``kubectl ksched``) and its own options; ``commands`` has its subcommands."""

from typing import Annotated, NoReturn

import typer

from kschedctl.cli.commands import LazyGroup
from kschedctl.cli.exiting import exit_with, print_version

# The answer to ``--version``.


#: Plain help: Typer's rich help would take more time than everything else in the help.
app = typer.Typer(
    name="kschedctl",
    cls=LazyGroup,
    help="Run the kube-scheduler algorithm offline, and explain exactly what it would do with a pod and why.",
    epilog="Exit codes: 0 it would be scheduled, 1 it would not, 2 bad input or usage, "
    "3 the cluster cannot be reached or, with --strict, the answer is incomplete.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_version()
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run the kube-scheduler algorithm offline, and explain exactly what it would do with a pod and why."""


def run() -> NoReturn:
    """Run the command line, and exit with its exit code."""
    # In standalone mode Typer would print usage errors itself, and fail if standard error cannot be written.
    exit_with(lambda: app(standalone_mode=False))
