"""What a document looks like on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

# The commands that next questions are written as declare their options when they are imported.
import kschedctl.cli.commands  # noqa: F401
from kschedctl.cli.invocation import Invocation
from kschedctl.presentation.document import Block
from kschedctl.render.terminal import render


def lines(blocks: Iterable[Block], width: int = 80) -> list[str]:
    """The lines on a terminal of some width, without colours."""
    console = Console(width=width, highlight=False, markup=False, emoji=False, color_system=None)
    return "".join(render(blocks, console, Invocation(command="", values={}, arguments={}).command_line)).splitlines()
