"""The layout of a table for a given width: side by side, with long words below, with shortened names, or cell by cell.

Nothing is left out and no word is broken, whatever the width. The layouts are tried in this order:

1. every column as wide as its text;
2. headings broken inside words, where the table allows it;
3. the widest columns narrower, down to their longest words;
4. the last column narrower still: if a row has a longer word in it, the cell is printed below that row;
5. the prefix and suffix that the names of a column share printed once, above the table;
6. one line per cell, with its heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile, zip_longest
from typing import Final

from rich.cells import cell_len

from kschedctl.presentation.document import INDENT, Lines, Table, Tone
from kschedctl.render.wrapping import longest_word, wrapped
from kschedctl.text.printable import printable

_COLUMN_GAP: Final = 2
#: The first column with a heading that may be split; the columns before it identify the row.
_FIRST_SPLIT: Final = 2
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: The separators at which names are cut, and the shortest shared text that is worth a line, in characters.
_SEPARATORS: Final = "-./:"
_LEAST_IN_COMMON: Final = 4
#: The smallest width of the last column if longer words are printed below the row.
_LEAST_LAST: Final = 20

#: Lines with their tone.
Printed = tuple[list[str], Tone]


@dataclass(frozen=True, slots=True)
class _Column:
    heading: Lines
    cells: tuple[Lines, ...]
    right: bool
    names: bool

    @property
    def width(self) -> int:
        """The width of the text, in terminal columns."""
        return max(map(cell_len, (line for cell in (self.heading, *self.cells) for line in cell)), default=0)

    @property
    def floor(self) -> int:
        """The smallest possible width: numbers are not wrapped, other text is wrapped between words."""
        cells = [line for cell in self.cells for line in cell]
        widest = max(map(cell_len if self.right else longest_word, cells), default=0)
        return max(widest, *map(longest_word, self.heading))


def grid(table: Table, width: int) -> Iterator[Printed]:
    """Lay out a table.

    Parameters
    ----------
    width : int
        The maximum line length, in terminal columns.

    Yields
    ------
    (list of str, Tone)
        Lines with their tone.
    """
    columns = [
        _Column(
            (printable(heading),),
            tuple(tuple(map(printable, row[i])) for row in table.rows),
            i in table.numeric,
            i in table.identifiers,
        )
        for i, heading in enumerate(table.headings)
    ]
    room = width - INDENT - _COLUMN_GAP * (len(columns) - 1)
    tones = table.tones or (Tone.PLAIN,) * len(table.rows)
    tried, notes = columns, list[str]()
    if table.names_split and sum(column.width for column in columns) > room:
        tried = [*columns[:_FIRST_SPLIT], *map(_with_split_heading, columns[_FIRST_SPLIT:])]
    floors = [column.floor for column in tried]
    if sum(floors) > room:
        floors = _with_narrow_end(tried)
    if sum(floors) > room:
        tried, notes = _with_short_names(tried, room)
        floors = _with_narrow_end(tried)
    if sum(floors) > room:
        yield from _cell_by_cell(columns, tones, width)
        return
    if notes:
        yield [" " * INDENT + note for note in notes], Tone.FAINT
    yield from _side_by_side(tried, tones, _widths(tried, floors, room), width)


def _with_narrow_end(columns: Sequence[_Column]) -> list[int]:
    *floors, last = (column.floor for column in columns)
    if not columns[-1].right:
        last = min(last, max(_LEAST_LAST, *map(longest_word, columns[-1].heading)))
    return [*floors, last]


def _with_split_heading(column: _Column) -> _Column:
    return replace(column, heading=tuple(_WORDS.sub("\n", column.heading[0]).split("\n")))


def _widths(columns: Sequence[_Column], floors: Sequence[int], room: int) -> list[int]:
    """Return the column widths: those of the text if there is space, else with the widest columns reduced."""
    widths = [column.width for column in columns]
    # The gap after a column counts as part of it; the last column has none.
    gaps = [*(_COLUMN_GAP for _ in columns[1:]), 0]
    while (excess := sum(widths) - room) > 0:
        taken = {i: width + gaps[i] for i, width in enumerate(widths) if width > floors[i]}
        widest = max(taken, key=lambda i: (taken[i], i))
        next_width = max((width for i, width in taken.items() if i != widest), default=0)
        step = min(excess, taken[widest] - next_width, widths[widest] - floors[widest])
        widths[widest] -= max(step, 1)
    return widths


def _with_short_names(columns: Sequence[_Column], room: int) -> tuple[list[_Column], list[str]]:
    """Return the columns with shortened names, longest shared text first, until they fit; and notes on the cuts."""
    found = {i: cut for i, column in enumerate(columns) if (cut := _in_common(column)) is not None}
    tried, notes = list(columns), list[str]()
    for i, (start, end) in sorted(found.items(), key=lambda item: -len("".join(item[1]))):
        if sum(_with_narrow_end(tried)) <= room:
            break
        cells = tuple(tuple(line[len(start) : len(line) - len(end)] for line in cell) for cell in columns[i].cells)
        tried[i] = replace(columns[i], cells=cells)
        notes.append(f"{' '.join(columns[i].heading)}: {start}*{end}")
    return tried, notes


def _in_common(column: _Column) -> tuple[str, str] | None:
    """Return the prefix and suffix that all names of a column share, if they are long enough for a line."""
    names = {line for cell in column.cells for line in cell if line}
    if not column.names or len(names) < 2 or any(" " in name for name in names):
        return None
    start = _upto_separator(_same_start(names))
    end = _upto_separator(_same_start([name[len(start) :][::-1] for name in names]))[::-1]
    # Every name must retain a distinguishing part.
    if any(len(name) <= len(start) + len(end) for name in names) or len(start) + len(end) < _LEAST_IN_COMMON:
        return None
    return start, end


def _same_start(names: Collection[str]) -> str:
    # A prefix that the first and the last name share is shared by all names between them.
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    return "".join(character for character, _ in alike)


def _upto_separator(text: str) -> str:
    return text[: max(map(text.rfind, _SEPARATORS)) + 1]


def _side_by_side(
    columns: Sequence[_Column], tones: Sequence[Tone], widths: Sequence[int], width: int
) -> Iterator[Printed]:
    yield _row([column.heading for column in columns], columns, widths), Tone.STRONG
    for i, tone in enumerate(tones):
        *others, last = (column.cells[i] for column in columns)
        if max(map(longest_word, last), default=0) <= widths[-1]:
            yield _row([*others, last], columns, widths), tone
        else:
            below = (part for line in last for part in wrapped(line, width - 2 * INDENT))
            yield [*_row([*others, ()], columns, widths), *(" " * 2 * INDENT + part for part in below)], tone


def _row(cells: Iterable[Lines], columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    blocks = [
        [part for line in cell for part in wrapped(line, width)] for cell, width in zip(cells, widths, strict=True)
    ]
    lines = []
    for parts in zip_longest(*blocks, fillvalue=""):
        line = " " * INDENT
        for text, column, width in zip(parts, columns, widths, strict=True):
            fill = " " * (width - cell_len(text))
            line += (fill + text if column.right else text + fill) + " " * _COLUMN_GAP
        lines.append(line.rstrip())
    return lines


def _cell_by_cell(columns: Sequence[_Column], tones: Sequence[Tone], width: int) -> Iterator[Printed]:
    """Yield a row's first cell on a line of its own and the others indented below it; empty cells are omitted."""
    for i, tone in enumerate(tones):
        lines: list[str] = []
        for n, column in enumerate(columns):
            if not any(column.cells[i]):
                continue
            heading = " ".join(column.heading)
            first, *more = column.cells[i]
            indent = INDENT if n == 0 else 2 * INDENT
            texts = [f"{heading}: {first}" if heading else first, *more]
            for k, text in enumerate(texts):
                for j, part in enumerate(wrapped(text, max(width - indent - INDENT, 1))):
                    lines.append(" " * (indent if j == k == 0 else indent + INDENT) + part)
        yield lines, tone
