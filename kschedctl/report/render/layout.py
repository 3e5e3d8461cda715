"""Tables and paragraphs on a terminal of some width, or in a pipe where nothing is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = 2


def table(
    console: Console,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Iterable[int] = (),
    styles: Sequence[str] = (),
) -> None:
    """Print a table without lines; the last column takes what room is left and wraps.

    Parameters
    ----------
    console : Console
        Where to.
    headings : sequence of str
        The columns; a heading may have several lines.
    rows : iterable of sequence of str
        The cells.
    numeric : iterable of int
        The columns that stand to the right.
    styles : sequence of str
        A style per row; empty for none.
    """
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    right = set(numeric)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, heading in enumerate(headings):
        grid.add_column(
            Text(heading),
            justify="right" if i in right else "left",
            vertical="top",
            no_wrap=i in right,
            overflow="fold",
        )
    for i, row in enumerate(rows):
        grid.add_row(*(Text(cell) for cell in row), style=styles[i] if styles else "")
    console.print(Padding(grid, (0, 0, 0, _INDENT), expand=False))


def paragraph(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    """Print a text that is wrapped at words where the terminal ends."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text, style=style), (0, 0, 0, indent), expand=False))


def verbatim(console: Console, text: str, indent: int = _INDENT) -> None:
    """Print a text as it is: one line, to be copied, whatever the width."""
    from rich.text import Text

    console.print(Text(" " * indent + text), soft_wrap=True)


def parts(console: Console, texts: Iterable[str]) -> None:
    """Print short texts one after the other, broken between them where the terminal ends."""
    line = ""
    for text in texts:
        longer = f"{line} \N{MIDDLE DOT} {text}" if line else text
        if line and len(longer) > console.width:
            verbatim(console, line, indent=0)
            longer = text
        line = longer
    if line:
        verbatim(console, line, indent=0)
