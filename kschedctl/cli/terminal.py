"""Where text answers go: a terminal of some width, or a pipe where nothing is broken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from rich.console import Console

#: Where nothing tells a width, nothing is broken.
_NO_WIDTH: Final = 100_000


def open_console(*, no_color: bool) -> Console:
    """Standard output as a console; colours only where a terminal shows them."""
    import os
    import shutil

    from rich.console import Console

    # COLUMNS=0 is no width; so is what is told of a pipe.
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    # Without colours there is no bold either: what is left are the characters alone.
    plain = no_color or bool(os.environ.get("NO_COLOR"))
    system: Literal["auto"] | None = None if plain else "auto"
    return Console(width=width, color_system=system, highlight=False, markup=False, emoji=False)


def program() -> str:
    """How the user calls the program: as a kubectl plugin or by itself."""
    name = Path(sys.argv[0]).name
    return "kubectl ksched" if name.startswith("kubectl-") else "kschedctl"
