"""Tables with typed columns as data frames of polars or pandas, and the display of answers in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from kschedctl.common.argument_types import checked_arguments
from kschedctl.common.errors import UnsupportedError

if TYPE_CHECKING:
    import pandas
    import polars

    #: A data frame of either library.
    Frame: TypeAlias = polars.DataFrame | pandas.DataFrame
else:
    # Neither library has to be installed to evaluate annotations.
    Frame: TypeAlias = Any

Library: TypeAlias = Literal["polars", "pandas"]
Cell: TypeAlias = str | int | float | bool | datetime | None
#: The type of the values of a column; a value can also be ``None``.
ColumnType: TypeAlias = type[str] | type[int] | type[float] | type[bool] | type[datetime]

#: The names of the column types in pandas. All of them have nulls, so that a type does not depend on the values.
_PANDAS: Final[Mapping[ColumnType, str]] = {
    str: "string",
    int: "Int64",
    float: "Float64",
    bool: "boolean",
    datetime: "datetime64[us, UTC]",
}


class Tabular:
    """Base of the objects that can be written as a table: its columns and their types, and its rows."""

    __slots__ = ()

    def column_types(self) -> Mapping[str, ColumnType]:
        raise NotImplementedError

    def table(self) -> Iterable[Sequence[Cell]]:
        """Return the rows, with one cell per column."""
        raise NotImplementedError

    def headings(self) -> tuple[str, ...]:
        """Return the column names."""
        return tuple(self.column_types())

    @overload
    def to_frame(self, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def to_frame(self, library: None = None) -> Frame: ...
    @checked_arguments
    def to_frame(self, library: Library | None = None) -> Frame:
        """Return the table as a data frame; docs/notebooks.md lists the columns with their types and units.

        The types are Int64, Float64, Boolean, String, and Datetime in UTC with microseconds; in pandas they are the
        types of the same names that have nulls. An absent value is null, and so is an empty text.

        Args:
            library: The library of the frame; by default polars, or pandas if polars is not installed.

        Raises UnsupportedError if the library is not installed.
        """
        types = self.column_types()
        rows = list(self.table())
        cells = {name: [_cell(row[i], kind) for row in rows] for i, (name, kind) in enumerate(types.items())}
        return _FRAMES[library or _installed()](cells, types)


@dataclass(frozen=True, slots=True)
class Table(Tabular):
    """A table of its own."""

    types: Mapping[str, ColumnType]
    #: The rows, with one cell per column.
    rows: Sequence[Sequence[Cell]]

    def column_types(self) -> Mapping[str, ColumnType]:
        return self.types

    def table(self) -> Sequence[Sequence[Cell]]:
        return self.rows


def common_type(cells: Iterable[Cell], default: ColumnType) -> ColumnType:
    """Return the type of a column whose values have no declared type.

    Args:
        cells: The values. Integers and floats together are floats; any other mix is text, and so are larger
            integers than 64 bits.

    >>> common_type([1, None, 2.5], str), common_type([1, "two"], str), common_type([None], float)
    (<class 'float'>, <class 'str'>, <class 'float'>)
    """
    values = [cell for cell in cells if cell is not None]
    kinds: set[ColumnType] = {type(value) for value in values}
    if any(type(value) is int and not -(2**63) <= value < 2**63 for value in values):
        return str
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else str if kinds else default


def _cell(cell: Cell, kind: ColumnType) -> Cell:
    """Return a value as one of its column's type."""
    if cell is None or cell == "":
        return None
    if kind is float and isinstance(cell, int):
        return float(cell)
    if kind is str and not isinstance(cell, str):
        return str(cell).lower() if isinstance(cell, bool) else str(cell)
    return cell


def _installed() -> Library:
    """Return the library to use: polars if it is installed, else pandas."""
    try:
        import polars  # noqa: F401
    except ImportError:
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise UnsupportedError(
                "a data frame needs polars or pandas", hint="pip install polars, or pip install pandas"
            ) from None
        return "pandas"
    return "polars"


def _polars_frame(cells: Mapping[str, Sequence[Cell]], types: Mapping[str, ColumnType]) -> polars.DataFrame:
    try:
        import polars
    except ImportError:
        raise _not_installed("polars") from None
    named = {
        str: polars.String(),
        int: polars.Int64(),
        float: polars.Float64(),
        bool: polars.Boolean(),
        datetime: polars.Datetime("us", "UTC"),
    }
    return polars.DataFrame(cells, schema={name: named[kind] for name, kind in types.items()})


def _pandas_frame(cells: Mapping[str, Sequence[Cell]], types: Mapping[str, ColumnType]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise _not_installed("pandas") from None
    return pandas.DataFrame({name: pandas.array(cells[name], dtype=_PANDAS[kind]) for name, kind in types.items()})


def _not_installed(library: Library) -> UnsupportedError:
    return UnsupportedError(f"a data frame of {library} needs {library}", hint=f"pip install {library}")


_FRAMES: Final = {"polars": _polars_frame, "pandas": _pandas_frame}


# The display of answers, clusters and simulations in notebooks.


class ShownInNotebooks:
    """Base of the objects that notebooks show as their document, in HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the object as HTML, which notebooks show."""
        # The objects do not depend on their presentation, so the module is looked up by its name.
        html: str = import_module("kschedctl.output.page.page").as_html(self)
        return html
