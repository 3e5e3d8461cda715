"""The layout of a table for a given width: side by side, with shortened names, in parts, or cell by cell.

Nothing is left out, no name is broken, and no text of a cell is outside its column, whatever the width. The layouts are
tried in this order:

1. every column as wide as its text;
2. headings broken inside words, where the table allows it;
3. the widest columns narrower, down to their longest words;
4. the names of columns of names shortened, not those in sentences: UUIDs first, then the prefix and suffix that they
   share, which are printed once above the table; long ones also where this only makes the text easier to read;
5. labels and taints broken;
6. in several parts, one below the other, each with the first column, if that names the rows;
7. one line per cell, with its heading.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile, zip_longest
from typing import Final

import msgspec

from kschedctl.common.text.characters import printable
from kschedctl.common.text.patterns import pattern
from kschedctl.questions.document import INDENT, Lines, Table, Tone

#: Characters of one terminal column each: Latin letters and signs without the soft hyphen.
_NARROW: Final = frozenset(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0xAD), *range(0xAE, 0x300))))


def cell_len(text: str) -> int:
    """Return the width of a text in terminal columns."""
    if _NARROW.issuperset(text):
        return len(text)
    # Most tables have names and numbers only.
    import rich.cells

    return rich.cells.cell_len(text)


# Wrapping of text at spaces. A name is never broken, as somebody may copy it.

_WRAPPING_WORD: Final = pattern(r"\s*\S+")
#: Labels, taints and expressions, and the parts between which they may be broken: they are no names of objects.
_LABEL: Final = pattern(r"\s*\S*[=:]\w\S*")
_PART_OF_LABEL: Final = pattern(r"\s*[^\s/=:]*(?:[/=:]+|$)")
_EXPRESSION: Final = pattern(r"\s*\S*(?:\w[(\[]|\",\")\S*")
_PART_OF_EXPRESSION: Final = pattern(r"\s*[^\s,(\]]*(?:[,(\]]+|$)")


def wrapped(text: str, width: int, *, breaks_labels: bool = False) -> list[str]:
    """Return the lines of a text; a line exceeds the width only if it consists of a single longer word.

    Args:
        width: The maximum line length, in terminal columns.
        breaks_labels: True to break labels and taints that are longer than a line after ``/``, ``=`` and ``:``, and
            CEL expressions and JSON after commas and brackets.

    >>> wrapped("fits on 5 of 15 nodes", 10)
    ['fits on 5', 'of 15', 'nodes']
    >>> wrapped("taint nvidia.com/gpu=present:NoSchedule", 22, breaks_labels=True)
    ['taint nvidia.com/gpu=', 'present:NoSchedule']
    >>> wrapped('device.capacity["x"].compareTo(quantity("80Gi"))', 32, breaks_labels=True)
    ['device.capacity["x"].compareTo(', 'quantity("80Gi"))']
    """
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in _WRAPPING_WORD.findall(text):
        for part in _wrapping_parts(word) if breaks_labels and cell_len(word.strip()) > width else (word,):
            if line.strip() and cell_len(line) + cell_len(part) > width:
                lines.append(line)
                line = part.lstrip()
            else:
                line += part
    return [*lines, line]


def longest_word(text: str, *, breaks_labels: bool = False) -> int:
    """Return the width of the widest word, which is the smallest possible width of a text."""
    words = text.split()
    if breaks_labels:
        words = [part for word in words for part in _wrapping_parts(word)]
    return max(map(cell_len, words), default=0)


def _wrapping_parts(word: str) -> list[str]:
    if _EXPRESSION.fullmatch(word):
        return _PART_OF_EXPRESSION.findall(word)
    return _PART_OF_LABEL.findall(word) if _LABEL.fullmatch(word) else [word]


# A column of a table in the course of its layout.

#: The positions at which a heading may be broken: ``NodeResources|Fit``, ``utilisation|.cpu``.
_HEADING_BREAKS: Final = pattern(r"(?<=[a-z])(?=[A-Z.])")
#: The number of lines of a text above which a wider column is better, up to ``_ENOUGH`` terminal columns.
_MOST_LINES: Final = 6
_ENOUGH: Final = 20
#: The width below which a text is hard to read, and the space beside its longest word, in terminal columns.
_COMFORTABLE: Final = 24
_BESIDE: Final = 12


class Column(msgspec.Struct, frozen=True):
    """The heading and the cells of a column."""

    heading: Lines
    cells: tuple[Lines, ...]
    #: True for right-aligned columns, whose cells are not wrapped.
    right: bool
    #: True if the cells are names.
    names: bool
    #: True if labels and taints in the cells may be broken.
    breaks_labels: bool = False

    @property
    def title(self) -> str:
        """The heading on one line."""
        return "".join(self.heading)

    @property
    def width(self) -> int:
        """The width of the text, in terminal columns."""
        return max(map(cell_len, (line for cell in (self.heading, *self.cells) for line in cell)), default=0)

    @property
    def floor(self) -> int:
        """The smallest width: numbers are not wrapped, other text is wrapped between words, in few lines."""
        cells = [line for cell in self.cells for line in cell]
        of_cell = cell_len if self.right else partial(longest_word, breaks_labels=self.breaks_labels)
        least = min(max(map(cell_len, cells), default=0) // _MOST_LINES, _ENOUGH)
        return max(least, max(map(of_cell, cells), default=0), *map(longest_word, self.heading))

    @property
    def comfortable(self) -> int:
        """The smallest width that is easy to read."""
        return min(self.width, max(self.floor + _BESIDE, _COMFORTABLE))

    def wrapped(self, line: str, width: int) -> list[str]:
        """Return the lines of a line of a cell in a column of a given width."""
        return wrapped(line, width, breaks_labels=self.breaks_labels)

    def with_lines(self, change: Callable[[str], str]) -> "Column":
        """Return the column with each line of its cells changed."""
        return msgspec.structs.replace(self, cells=tuple(tuple(map(change, cell)) for cell in self.cells))


# Shortened names in tables: the digits of UUIDs, then the text that the names of a column have in common.
#
# ``*`` stands for the omitted text, as in a pattern of ``--cordon``: ``pvc-0b1c2d3e*`` for a volume. What the names of
# a column have in common is said once, above the table: ``node: gke-prod-default-pool-1a2b3c4d-*``. A column with
# nothing but names shows the rest without the star.

#: The separators at which names are cut, and the shortest shared text that is worth a line, in characters.
_SEPARATORS: Final = "-./:"
_LEAST_IN_COMMON: Final = 4
_UUID: Final = pattern(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
#: The lengths to which UUIDs are cut; the first at which all of a table differ is used.
_UUID_LENGTHS: Final = (8, 13, 18, 23)
#: The cell of a column of names that has none.
_NO_NAME: Final = "-"


#: The prefix and suffix of names that are omitted.
_Cut = tuple[str, str]


class Shortened(msgspec.Struct, frozen=True):
    """Columns with shortened names."""

    columns: tuple[Column, ...]
    #: The lines above the table that say what was cut.
    notes: tuple[str, ...] = ()
    #: The length of the text that was cut last; 0 for the unchanged columns.
    cut: int = 0


def shortenings(columns: Sequence[Column], *, uuids: bool) -> Iterator[Shortened]:
    """Yield the columns unchanged, then with one more kind of names shortened each time, the longest cut first.

    Args:
        uuids: True to shorten UUIDs, which nothing in the table completes.
    """
    now = Shortened(tuple(columns))
    yield now
    if uuids and (short := _with_short_uuids(now)) is not None:
        now = short
        yield now
    found = {cut for column in now.columns if (cut := _in_common(column)) is not None}
    known = sorted(found, key=lambda cut: (-len("".join(cut)), cut))
    by_cut: dict[tuple[str, str], list[int]] = {}
    for i, column in enumerate(now.columns):
        # What the names of another column share is often what most names of this column share, or its only name has.
        if fitting := [cut for cut in known if any(_rest(name, cut) for name in _names_in_cells(column))]:
            by_cut.setdefault(min(fitting, key=partial(_least_width, column)), []).append(i)
    for cut in filter(by_cut.__contains__, known):
        changed = list(now.columns)
        alone = all(_is_alone(changed[i], cut) for i in by_cut[cut])
        for i in by_cut[cut]:
            changed[i] = _without_affixes(changed[i], cut, alone=alone)
        note = f"{', '.join(columns[i].title for i in by_cut[cut])}: {'*'.join(cut)}"
        now = Shortened(tuple(changed), (*now.notes, note), len("".join(cut)))
        yield now


def _with_short_uuids(before: Shortened) -> Shortened | None:
    lines = [line for column in before.columns if column.names for cell in column.cells for line in cell]
    every = {uuid for line in lines for uuid in _UUID.findall(line)}
    length = next((n for n in _UUID_LENGTHS if len({uuid[:n] for uuid in every}) == len(every)), None)
    if not every or length is None:
        return None
    note = "*: the rest of a UUID, which -o wide shows"

    columns = tuple(
        column.with_lines(lambda line: _UUID.sub(lambda uuid: f"{uuid[0][:length]}*", line)) if column.names else column
        for column in before.columns
    )
    return Shortened(columns, (*before.notes, note), len(next(iter(every))) - length)


def _in_common(column: Column) -> _Cut | None:
    """Return the prefix and suffix that all names of a column share."""
    return _shared(set(_names_in_cells(column)))


def _names_in_cells(column: Column) -> Iterator[str]:
    """Yield the names of a column of names; a name in a sentence is never shortened, as it is read alone."""
    lines = [line for cell in column.cells for line in cell if line not in ("", _NO_NAME)]
    if column.names and not any(" " in line for line in lines):
        # A word such as "pending" is no name.
        yield from (line for line in lines if re.search("[-./:0-9]", line) and not line.endswith("*"))


def _shared(names: Collection[str]) -> _Cut | None:
    if len(names) < 2:
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


def _rest(name: str, cut: _Cut) -> str:
    """Return a name without a prefix and suffix; empty if it has no other text, or not both."""
    start, end = cut
    return name[len(start) : len(name) - len(end)] if name.startswith(start) and name.endswith(end) else ""


def _least_width(column: Column, cut: _Cut) -> tuple[int, int]:
    """Return the width that a column needs at least without a prefix and suffix, and the length of its text."""
    short = _without_affixes(column, cut, alone=_is_alone(column, cut))
    return short.floor, sum(len(line) for cell in short.cells for line in cell)


def _is_alone(column: Column, cut: _Cut) -> bool:
    """Report whether a column has nothing but names with a prefix and suffix."""
    lines = {line for cell in column.cells for line in cell} - {"", _NO_NAME}
    return column.names and all(_rest(line, cut) for line in lines)


def _without_affixes(column: Column, cut: _Cut, *, alone: bool) -> Column:
    """Return a column with the prefix and suffix of its names omitted; ``alone`` is true to show no star for them."""
    names = {name for name in _names_in_cells(column) if _rest(name, cut)}

    def short(name: str) -> str:
        rest = _rest(name, cut) if name in names else ""
        if alone or not rest:
            return rest or name
        return f"{'*' * bool(cut[0])}{rest}{'*' * bool(cut[1])}"

    return column.with_lines(short)


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

    Args:
        width: The maximum line length, in terminal columns.
        in_full: True to print every UUID in full.
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
    room = _text_width(columns, width)
    split = columns
    if table.names_split and sum(column.width for column in columns) > room:
        split = [
            *columns[:_FIRST_SPLIT],
            *(
                msgspec.structs.replace(column, heading=tuple(_HEADING_BREAKS.split(column.heading[0])))
                for column in columns[_FIRST_SPLIT:]
            ),
        ]
    tried = _shortened(split, room, in_full=in_full)
    parts = [tried.columns]
    if not _fit(tried.columns, room):
        parts = [tuple(msgspec.structs.replace(column, breaks_labels=not column.names) for column in tried.columns)]
        if not _fit(parts[0], room):
            parts = _column_groups(tried.columns, width)
    if not parts:
        yield from _cell_by_cell(columns, tones, width)
        return
    if tried.notes:
        yield [" " * INDENT + line for note in tried.notes for line in wrapped(note, width - INDENT)], Tone.FAINT
    for i, part in enumerate(parts):
        if i:
            yield [""], Tone.PLAIN
        widths = _widths(part, _text_width(part, width))
        yield _row([column.heading for column in part], part, widths), Tone.STRONG
        for row, tone in enumerate(tones):
            yield _row([column.cells[row] for column in part], part, widths), tone


def _text_width(columns: Sequence[Column], width: int) -> int:
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


def _column_groups(columns: Sequence[Column], width: int) -> list[tuple[Column, ...]]:
    """Return the columns in groups that fit, each with the first column; none if that does not name the rows."""
    first, *others = columns
    if not first.names or len(set(first.cells)) < max(len(first.cells), 2):
        return []
    parts: list[tuple[Column, ...]] = [(first,)]
    for column in others:
        longer = (*parts[-1], column)
        if len(longer) > 2 and sum(each.comfortable for each in longer) > _text_width(longer, width):
            longer = (first, column)
            parts.append(longer)
        else:
            parts[-1] = longer
    return parts if len(parts) <= _MOST_PARTS and all(_fit(part, _text_width(part, width)) for part in parts) else []


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """Return the column widths: those of the text if there is space, else with the widest columns reduced."""
    widths, floors = [column.width for column in columns], [column.floor for column in columns]
    # The gap after a column counts as part of it; the last column has none.
    gaps = [*(_COLUMN_GAP for _ in columns[1:]), 0]
    while (excess := sum(widths) - room) > 0:
        taken = {i: width + gaps[i] for i, width in enumerate(widths) if width > floors[i]}
        widest = max(taken, key=lambda i: (taken[i], i))
        next_width = max((width for i, width in taken.items() if i != widest), default=0)
        widths[widest] -= max(min(excess, taken[widest] - next_width, widths[widest] - floors[widest]), 1)
    return widths


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
            for k, text in enumerate([f"{heading}: {first}" if heading else first, *more]):
                for j, part in enumerate(wrapped(text, max(width - indent - INDENT, 1))):
                    lines.append(" " * (indent if j == k == 0 else indent + INDENT) + part)
        yield lines, tone
