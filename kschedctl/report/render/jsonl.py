"""``-o jsonl``: an answer that is a table, an object of JSON per line and row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kschedctl.report.render.form import Form, Reply, as_table
from kschedctl.report.render.printable import json_text

if TYPE_CHECKING:
    from rich.console import Console


class JsonLines(Form):
    """A line per row."""

    name = "jsonl"
    tabular = True

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the rows."""
        import msgspec

        value = as_table(reply)
        headings = value.headings()
        for row in value.table():
            yield json_text(msgspec.json.encode(dict(zip(headings, row, strict=True)))) + "\n"
