"""Documents: an answer as sections of paragraphs, tables and questions, which a renderer turns into text or a page.

No block knows how wide a line is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
class ScatterAxis:
    """An axis of a scatter plot: its title, and the unit behind its numbers."""

    title: str
    unit: str = ""

    def number(self, value: float) -> str:
        """Return a number of the axis in words; shares have one decimal place."""
        if self.unit:
            return f"{value:.1f} {self.unit}"
        return str(int(value)) if value == int(value) else f"{value:,.1f}"


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A point of a scatter plot.

    Attributes
    ----------
    label : str
        Its name, shown if the point is on the front.
    about : str
        A description, shown if somebody points at it.
    front : bool
        True if the point stands out.
    """

    x: float
    y: float
    label: str
    about: str
    front: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """A scatter plot, for forms that can draw.

    Attributes
    ----------
    legend : str
        The meaning of the points that stand out.
    edge : tuple of (float, float)
        The corners of the line along these points; empty for none.
    """

    title: str
    legend: str
    x_axis: ScatterAxis
    y_axis: ScatterAxis
    points: tuple[ScatterPoint, ...]
    edge: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A next question, as a request: the options of a command declare how it is written as a command line.

    Attributes
    ----------
    text : str
        The question in words, such as ``Why these scores``.
    command : str
        The command that answers it; the options of the command that was run stay as they were given.
    about : str
        The pod that it is about, as namespace/name; empty for the pods and nodes of the command that was run.
    options : mapping of str to object
        The options that differ from those of the command that was run, by name; ``None`` takes one away.
    snapshot : str
        The snapshot that is asked instead of the cluster of the command that was run, whose what-ifs are in it.
    """

    text: str
    command: str
    about: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class Questions:
    """Next questions, each with the command that answers it, to be copied."""

    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section, which ends with the next heading or gap."""

    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """The end of a section."""


GAP = Gap()

Block = Heading | Paragraph | Verbatim | Phrases | Table | Scatter | Questions | Gap
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
