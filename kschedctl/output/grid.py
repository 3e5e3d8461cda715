"""The layout of a table for a given width: side by side, with shortened names, in parts, or cell by cell.

Nothing is left out, no name is broken, and no text of a cell is outside its column, whatever the width. The layouts are
tried in this order:

1. every column as wide as its text;
2. headings broken inside words, where the table allows it;
3. the widest columns narrower, down to their longest words;
4. names shortened: UUIDs first, then the prefix and suffix that names of a column share, which are printed once above
   the table; long ones also where this only makes the text easier to read;
5. labels and taints broken;
6. in several parts, one below the other, each with the first column, if that names the rows;
7. one line per cell, with its heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Final

from rich.cells import cell_len

from kschedctl.common.text.characters import printable
from kschedctl.output.column import Column
from kschedctl.output.short_names import Shortened, shortenings
from kschedctl.output.wrapping import wrapped
from kschedctl.questions.document import INDENT, Lines, Table, Tone

_COLUMN_GAP: Final = 2
#: The first column with a heading that may be split; the columns before it identify the row.
_FIRST_SPLIT: Final = 2
#: The shortest text that is cut to make a table easier to read; shorter ones are cut only if the table does not fit.
_WORTHWHILE: Final = 22
#: The largest number of parts of a table.
_MOST_PARTS: Final = 4

#: Lines with their tone.
Printed = tuple[list[str], Tone]


def grid(table: Table, width: int, *, in_full: bool = False) -> Iterator[Printed]:
    """Lay out a table.

    Parameters
    ----------
    width : int
        The maximum line length, in terminal columns.
    in_full : bool
        True to print every UUID in full.

    Yields
    ------
    (list of str, Tone)
        Lines with their tone.
    """
    columns = [
        Column(
            (printable(heading),),
            tuple(tuple(map(printable, row[i])) for row in table.rows),
            i in table.numeric,
            i in table.identifiers,
        )
        for i, heading in enumerate(table.headings)
    ]
    tones = table.tones or (Tone.PLAIN,) * len(table.rows)
    room = _room(columns, width)
    split = columns
    if table.names_split and sum(column.width for column in columns) > room:
        split = [*columns[:_FIRST_SPLIT], *(column.with_split_heading() for column in columns[_FIRST_SPLIT:])]
    tried = _shortened(split, room, in_full=in_full)
    parts = [tried.columns]
    if not _fit(tried.columns, room):
        parts = [tuple(column.with_broken_labels() for column in tried.columns)]
        if not _fit(parts[0], room):
            parts = _parts(tried.columns, width)
    if not parts:
        yield from _cell_by_cell(columns, tones, width)
        return
    if tried.notes:
        yield [" " * INDENT + line for note in tried.notes for line in wrapped(note, width - INDENT)], Tone.FAINT
    for i, part in enumerate(parts):
        if i:
            yield [""], Tone.PLAIN
        yield from _side_by_side(part, tones, _widths(part, _room(part, width)))


def _room(columns: Sequence[Column], width: int) -> int:
    """Return the width that is left for the text of columns."""
    return width - INDENT - _COLUMN_GAP * (len(columns) - 1)


def _fit(columns: Iterable[Column], room: int) -> bool:
    return sum(column.floor for column in columns) <= room


def _shortened(columns: Sequence[Column], room: int, *, in_full: bool) -> Shortened:
    """Return the columns with as few names shortened as are needed; all if the columns do not fit in any case."""
    steps = list(shortenings(columns, uuids=not in_full))
    for step, following in pairwise(steps):
        easy = sum(column.comfortable for column in step.columns) <= room
        if easy or (following.cut < _WORTHWHILE and _fit(step.columns, room)):
            return step
    return steps[-1]


def _parts(columns: Sequence[Column], width: int) -> list[tuple[Column, ...]]:
    """Return the columns in groups that fit, each with the first column; none if that does not name the rows."""
    first, *others = columns
    if not first.names or len(set(first.cells)) < max(len(first.cells), 2):
        return []
    parts: list[tuple[Column, ...]] = [(first,)]
    for column in others:
        longer = (*parts[-1], column)
        if len(longer) > 2 and sum(each.comfortable for each in longer) > _room(longer, width):
            longer = (first, column)
            parts.append(longer)
        else:
            parts[-1] = longer
    return parts if len(parts) <= _MOST_PARTS and all(_fit(part, _room(part, width)) for part in parts) else []


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """Return the column widths: those of the text if there is space, else with the widest columns reduced."""
    widths, floors = [column.width for column in columns], [column.floor for column in columns]
    # The gap after a column counts as part of it; the last column has none.
    gaps = [*(_COLUMN_GAP for _ in columns[1:]), 0]
    while (excess := sum(widths) - room) > 0:
        taken = {i: width + gaps[i] for i, width in enumerate(widths) if width > floors[i]}
        widest = max(taken, key=lambda i: (taken[i], i))
        next_width = max((width for i, width in taken.items() if i != widest), default=0)
        step = min(excess, taken[widest] - next_width, widths[widest] - floors[widest])
        widths[widest] -= max(step, 1)
    return widths


def _side_by_side(columns: Sequence[Column], tones: Sequence[Tone], widths: Sequence[int]) -> Iterator[Printed]:
    yield _row([column.heading for column in columns], columns, widths), Tone.STRONG
    for i, tone in enumerate(tones):
        yield _row([column.cells[i] for column in columns], columns, widths), tone


def _row(cells: Iterable[Lines], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    blocks = [
        [part for line in cell for part in column.wrapped(line, width)]
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    lines = []
    for parts in zip_longest(*blocks, fillvalue=""):
        line = " " * INDENT
        for text, column, width in zip(parts, columns, widths, strict=True):
            fill = " " * (width - cell_len(text))
            line += (fill + text if column.right else text + fill) + " " * _COLUMN_GAP
        lines.append(line.rstrip())
    return lines


def _cell_by_cell(columns: Sequence[Column], tones: Sequence[Tone], width: int) -> Iterator[Printed]:
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
