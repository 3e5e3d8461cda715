"""A column of a table in the course of its layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec
from rich.cells import cell_len

from kschedctl.output.wrapping import longest_word, wrapped
from kschedctl.questions.document import Lines

#: The positions at which a heading may be broken: ``NodeResources|Fit``, ``utilisation|.cpu``.
_HEADING_BREAKS: Final = re.compile(r"(?<=[a-z])(?=[A-Z.])")
#: The number of lines of a text above which a wider column is better, up to ``_ENOUGH`` terminal columns.
_MOST_LINES: Final = 6
_ENOUGH: Final = 20
#: The width below which a text is hard to read, and the space beside its longest word, in terminal columns.
_COMFORTABLE: Final = 24
_BESIDE: Final = 12


class Column(msgspec.Struct, frozen=True):
    """The heading and the cells of a column.

    Attributes
    ----------
    right : bool
        True for right-aligned columns, whose cells are not wrapped.
    names : bool
        True if the cells are names.
    breaks_labels : bool
        True if labels and taints in the cells may be broken.
    """

    heading: Lines
    cells: tuple[Lines, ...]
    right: bool
    names: bool
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
        of_cell = cell_len if self.right else self._longest_word
        least = min(max(map(cell_len, cells), default=0) // _MOST_LINES, _ENOUGH)
        return max(least, max(map(of_cell, cells), default=0), *map(longest_word, self.heading))

    @property
    def comfortable(self) -> int:
        """The smallest width that is easy to read."""
        return min(self.width, max(self.floor + _BESIDE, _COMFORTABLE))

    def _longest_word(self, text: str) -> int:
        return longest_word(text, breaks_labels=self.breaks_labels)

    def wrapped(self, line: str, width: int) -> list[str]:
        """Return the lines of a line of a cell in a column of a given width."""
        return wrapped(line, width, breaks_labels=self.breaks_labels)

    def with_split_heading(self) -> Column:
        """Return the column with a heading that is broken inside its words."""
        return msgspec.structs.replace(self, heading=tuple(_HEADING_BREAKS.split(self.heading[0])))

    def with_broken_labels(self) -> Column:
        """Return the column with labels and taints broken, unless its cells are names."""
        return msgspec.structs.replace(self, breaks_labels=not self.names)

    def with_lines(self, change: Callable[[str], str]) -> Column:
        """Return the column with each line of its cells changed."""
        return msgspec.structs.replace(self, cells=tuple(tuple(map(change, cell)) for cell in self.cells))
