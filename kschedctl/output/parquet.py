"""``-o parquet``: tabular answers as an Apache Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kschedctl.common.errors import UnsupportedError
from kschedctl.common.extras import install_command
from kschedctl.output.form import Form, Medium, as_table

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.frame import View


class Parquet(Form):
    """An Apache Parquet file, for a file or a pipe."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[bytes]:
        """Yield the table as the bytes of one file.

        Raises
        ------
        UnsupportedError
            If pyarrow is not installed, or the output is a terminal.
        """
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise UnsupportedError("-o parquet needs pyarrow", hint=install_command("parquet")) from None
        if medium.console().is_terminal:
            raise UnsupportedError("-o parquet is not for a terminal", hint="-o parquet > table.parquet")
        value = as_table(answer)
        rows = list(value.table())
        columns = {name: _alike([row[i] for row in rows]) for i, name in enumerate(value.headings())}
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        yield sink.getvalue().to_pybytes()


def _alike(cells: list[Any]) -> list[Any]:
    """Return the cells of a column with one type: integers and floats become floats, any other mix becomes text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) <= 1:
        return cells
    if kinds == {int, float}:
        return [None if cell is None else float(cell) for cell in cells]
    return [None if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in cells]
