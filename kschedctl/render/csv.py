"""``-o csv``: an answer that is a table, as RFC 4180 has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kschedctl.render.form import Form, FormKind, Medium, as_table

if TYPE_CHECKING:
    from kschedctl.presentation.frame import View
    from kschedctl.render.form import Answers


class Csv(Form):
    """A line of headings, and a line per row."""

    name = "csv"
    kinds = frozenset({FormKind.TABLE})

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Print the table."""
        value = as_table(answer)
        yield _line(value.headings())
        for row in value.table():
            yield _line(row)


def _line(cells: Iterable[object]) -> str:
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([_text(cell) for cell in cells])
    return out.getvalue()


def _text(cell: object) -> object:
    """A cell as the other forms write it."""
    return str(cell).lower() if isinstance(cell, bool) else cell
