"""Blocks as text for a terminal of some width, or for a pipe, where nothing is broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kschedctl.report.document import INDENT, Block, Commands, Gap, Paragraph, Phrases, Table, Tone, Verbatim

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Final = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.FAINT: "dim",
    Tone.GOOD: "bold green",
    Tone.BAD: "bold red",
    Tone.MIXED: "bold yellow",
    Tone.CAUTION: "yellow",
}
_COLUMN_GAP: Final = 2
#: Headings are split from this column on: the first ones name the row.
_FIRST_SPLIT: Final = 2
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def render(blocks: Iterable[Block], console: Console) -> Iterator[str]:
    """Turn blocks into text, one after the other.

    Parameters
    ----------
    blocks : iterable of Block
        The blocks.
    console : Console
        Where they will be shown: it tells width and colours, and nothing is written to it.

    Yields
    ------
    str
        Whole lines without spaces at their ends.
    """
    for block in blocks:
        with console.capture() as capture:
            _show(block, console)
        # Tables fill their last column up with spaces.
        yield "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _show(block: Block, console: Console) -> None:
    match block:
        case Gap():
            console.print()
        case Paragraph():
            _show_paragraph(block, console)
        case Verbatim():
            _show_line(" " * block.indent + block.text, console)
        case Phrases():
            _show_phrases(block, console)
        case Table():
            _show_table(block, console)
        case Commands():
            width = max((len(question) for question, _ in block.questions), default=0)
            for question, command in block.questions:
                _show_line(f"{question + ':':{width + 1}} {command}", console)


def _show_paragraph(block: Paragraph, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    text = Text(block.text, style=_STYLES[block.tone])
    console.print(Padding(text, (0, 0, 0, block.indent), expand=False))


def _show_line(text: str, console: Console) -> None:
    from rich.text import Text

    console.print(Text(text), soft_wrap=True)


def _show_phrases(block: Phrases, console: Console) -> None:
    line = ""
    for text in block.texts:
        longer = f"{line} \N{MIDDLE DOT} {text}" if line else text
        if line and len(longer) > console.width:
            _show_line(line, console)
            longer = text
        line = longer
    if line:
        _show_line(line, console)


def _show_table(block: Table, console: Console) -> None:
    """The last column takes what room is left and wraps."""
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False, padding=(0, _COLUMN_GAP, 0, 0), header_style="bold")
    for i, heading in enumerate(_headings(block, console.width)):
        right = i in block.numeric
        grid.add_column(
            Text(heading), justify="right" if right else "left", vertical="top", no_wrap=right, overflow="fold"
        )
    for i, row in enumerate(block.rows):
        grid.add_row(*(Text(cell) for cell in row), style=_STYLES[block.tones[i]] if block.tones else "")
    console.print(Padding(grid, (0, 0, 0, INDENT), expand=False))


def _headings(block: Table, width: int) -> tuple[str, ...]:
    if block.names_split:
        widths = [max(map(len, column)) for column in zip(block.headings, *block.rows, strict=True)]
        if sum(widths) + _COLUMN_GAP * (len(widths) + 1) > width:
            first, rest = block.headings[:_FIRST_SPLIT], block.headings[_FIRST_SPLIT:]
            return (*first, *(_WORDS.sub("\n", heading) for heading in rest))
    return block.headings
