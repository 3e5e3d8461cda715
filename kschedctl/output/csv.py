"""``-o csv``: tabular answers as CSV (RFC 4180)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kschedctl.output.form import Form, Medium, as_table

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.frame import View


class Csv(Form):
    """CSV: a line of headings, then a line per row."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the lines of the table."""
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
    """Return a cell in the notation of the other formats: booleans in lower case."""
    return str(cell).lower() if isinstance(cell, bool) else cell
