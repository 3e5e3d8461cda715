"""What stands between data and ink: an answer as blocks, which a renderer turns into text for a terminal, or a page.

No block knows how wide a line is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

#: How far tables and what belongs below a line are set in, in characters.
INDENT = 2


class Tone(Enum):
    """How something is meant; a renderer chooses the colours."""

    PLAIN = auto()
    STRONG = auto()
    FAINT = auto()
    GOOD = auto()
    BAD = auto()
    MIXED = auto()
    CAUTION = auto()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text that is broken at words where a line ends."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text of one line that is never broken, as somebody else wrote it."""

    text: str
    indent: int = INDENT


@dataclass(frozen=True, slots=True)
class Phrases:
    """Short texts one after the other, broken between them."""

    texts: tuple[str, ...]


#: A cell: its lines, none of which has a newline that means one.
Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table without lines.

    Attributes
    ----------
    headings : tuple of str
        The columns.
    rows : tuple of tuple of Lines
        The cells.
    numeric : frozenset of int
        The columns that stand to the right.
    tones : tuple of Tone
        A tone per row; none for plain ones.
    names_split : bool
        Whether headings may be broken inside their words (``NodeResources`` / ``Fit``) where there is no room.
    identifiers : frozenset of int
        The columns of names; where there is no room, what all names of one begin and end with is said once.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[Lines, ...], ...]
    numeric: frozenset[int] = frozenset()
    tones: tuple[Tone, ...] = ()
    names_split: bool = False
    identifiers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Commands:
    """Questions, each with the command that asks it, to be copied."""

    questions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Room between sections."""


GAP = Gap()

Block = Paragraph | Verbatim | Phrases | Table | Commands | Gap
Document = Iterator[Block]


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Sequence[str]]],
    *,
    numeric: Iterable[int] = (),
    tones: Sequence[Tone] = (),
    names_split: bool = False,
    identifiers: Iterable[int] = (),
) -> Table:
    """A table of any sequences; a cell is one line, or a sequence of lines."""
    cells = tuple(tuple((cell,) if isinstance(cell, str) else tuple(cell) for cell in row) for row in rows)
    columns = frozenset(numeric), tuple(tones), names_split, frozenset(identifiers)
    return Table(tuple(headings), cells, *columns)
