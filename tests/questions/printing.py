"""The terminal output of a document."""

from collections.abc import Iterable

from rich.console import Console

# Suggested commands are written from the options that the commands declare when they are imported.
import kschedctl.cli.commands  # noqa: F401
from kschedctl.cli.invocation import Invocation
from kschedctl.output.terminal import render
from kschedctl.questions.document import Block


def lines(blocks: Iterable[Block], width: int = 80) -> list[str]:
    """Return the lines on a terminal of the given width, without colours."""
    console = Console(width=width, highlight=False, markup=False, emoji=False, color_system=None)
    return "".join(render(blocks, console, Invocation(command="", values={}, arguments={}).command_line)).splitlines()
