"""Documents: answers as sequences of paragraphs, tables and next questions, which a renderer converts to text or HTML.

Blocks do not depend on the line width; renderers do the wrapping.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias, Union

import msgspec

if TYPE_CHECKING:
    from kschedctl.questions.charts import Chart


# Tones of texts and of the parts of charts.


class Tone(Enum):
    """The tone of a text; renderers map tones to colours."""

    PLAIN = auto()
    STRONG = auto()
    FAINT = auto()
    GOOD = auto()
    BAD = auto()
    MIXED = auto()
    CAUTION = auto()


#: The indentation of tables and of subordinate lines, in characters.
INDENT = 2


class Paragraph(msgspec.Struct, frozen=True):
    """A text that is wrapped between words."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0
    #: The short heading above the text on a page: the subject of the answer and, if one word has it, its state.
    heading: tuple[str, ...] = ()


class Verbatim(msgspec.Struct, frozen=True):
    """A single line that is never wrapped, such as a message or a command."""

    text: str
    indent: int = INDENT


class Phrases(msgspec.Struct, frozen=True):
    """Short texts in a row, wrapped only between the texts."""

    texts: tuple[str, ...]


class Provenance(msgspec.Struct, frozen=True):
    """The subject of an answer, and what the answer is based on; in a list, an equal basis is shown only once."""

    #: Short texts about the subject.
    subject: tuple[str, ...]
    #: Short texts about the rules and the snapshot.
    basis: tuple[str, ...]
    #: The what-ifs, one per line.
    changes: tuple[str, ...] = ()
    #: The name of the cluster: the paths of its snapshot; empty if it is unknown.
    cluster: str = ""
    #: The time of the cluster state with its zone, and its age in words; empty if they are unknown.
    state: str = ""
    age: str = ""

    @property
    def phrases(self) -> tuple[str, ...]:
        """The subject and the basis with the age of the state, for a reader of this moment."""
        return (*self.subject, *self.basis, *((f"state of {self.state}, {self.age}",) if self.state else ()))

    def after(self, previous: "Provenance | None") -> "Provenance":
        """Return the part that differs from that of the previous answer."""
        alone = msgspec.structs.replace(self, subject=())
        equal = previous is not None and msgspec.structs.replace(previous, subject=()) == alone
        return Provenance(self.subject, ()) if equal else self


#: A table cell: its lines; a newline inside a line has no meaning.
Lines = tuple[str, ...]


class Table(msgspec.Struct, frozen=True):
    """A table without rules between rows and columns."""

    #: The column headings.
    headings: tuple[str, ...]
    #: The cells.
    rows: tuple[tuple[Lines, ...], ...]
    #: The indices of right-aligned columns.
    numeric: frozenset[int] = frozenset()
    #: A tone per row; empty if all rows are plain.
    tones: tuple[Tone, ...] = ()
    #: True if headings may be broken inside words (``NodeResources`` / ``Fit``) to save width.
    names_split: bool = False
    #: The indices of columns with names; to save width, a prefix and suffix that all names of a column share is
    #: shown only once.
    identifiers: frozenset[int] = frozenset()
    #: The question that each row leads to on a page that is served; empty if rows lead nowhere.
    questions: tuple["Question | None", ...] = ()


class Question(msgspec.Struct, frozen=True):
    """A suggested next command, with the question that it answers; ``cli/invocation.py`` writes the command line."""

    #: The question in words, such as ``Why these scores``.
    text: str
    #: The command that answers it; it keeps the options of the command that was run.
    command: str
    #: The pod that the question is about, as namespace/name; empty to keep the arguments of the command that was
    #: run.
    about: str = ""
    #: The options that differ from those of the command that was run, by name; ``None`` removes an option.
    options: Mapping[str, object] = msgspec.field(default_factory=dict)
    #: The snapshot to query instead of the cluster; it already contains the what-ifs of the command that was run.
    snapshot: str = ""


class Questions(msgspec.Struct, frozen=True):
    """Next questions, each with the command that answers it, ready to be copied."""

    questions: tuple[Question, ...]


class Heading(msgspec.Struct, frozen=True):
    """The title of a section, which ends with the next heading or gap."""

    text: str


class Gap(msgspec.Struct, frozen=True):
    """A blank line, which also ends the section of the last heading."""


GAP = Gap()

Block: TypeAlias = Union[Heading, Paragraph, Verbatim, Phrases, Provenance, Table, "Chart", Questions, Gap]
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
    """Create a table from sequences of cells; a cell is one line, or a sequence of lines."""
    cells = tuple(tuple((cell,) if isinstance(cell, str) else tuple(cell) for cell in row) for row in rows)
    columns = frozenset(numeric), tuple(tones), names_split, frozenset(identifiers)
    return Table(tuple(headings), cells, *columns)


def and_more(left: int, end: str = ": -o wide") -> Document:
    """Yield the number of rows that a table leaves out, if any; the end says what they are or what shows them."""
    if left > 0:
        yield Paragraph(f"and {left} more{end}", Tone.FAINT, INDENT)
