"""``-o parquet``: an answer that is a table, as a file of Apache Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kschedctl.errors import UnsupportedError
from kschedctl.render.form import Form, FormKind, Medium, as_table

if TYPE_CHECKING:
    from kschedctl.presentation.frame import View
    from kschedctl.render.form import Answers


class Parquet(Form):
    """Bytes, for a file or another program."""

    name = "parquet"
    kinds = frozenset({FormKind.TABLE})

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[bytes]:
        """Write the table.

        Raises
        ------
        UnsupportedError
            Where the package that writes it is not installed, or a terminal would get it.
        """
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise UnsupportedError("-o parquet needs pyarrow", hint="pip install 'kschedctl[sweep]'") from None
        if medium.console().is_terminal:
            raise UnsupportedError("-o parquet is not for a terminal", hint="-o parquet > table.parquet")
        value = as_table(answer)
        rows = list(value.table())
        columns = {name: _alike([row[i] for row in rows]) for i, name in enumerate(value.headings())}
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        yield sink.getvalue().to_pybytes()


def _alike(cells: list[Any]) -> list[Any]:
    """The cells of a column, which has one type: where they are of several, numbers are floats and the rest texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) <= 1:
        return cells
    if kinds == {int, float}:
        return [None if cell is None else float(cell) for cell in cells]
    return [None if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in cells]
