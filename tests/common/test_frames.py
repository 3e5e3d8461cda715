"""Data frames: types of columns, absent values, the choice of the library, and the command that installs an extra."""

import sys
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from kschedctl.common.errors import InputError, UnsupportedError
from kschedctl.common.extras import install_command
from kschedctl.common.frames import Cell, ColumnType, Library, Table, common_type

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
TABLE = Table(
    {"text": str, "count": int, "share": float, "flag": bool, "time": datetime},
    [("a", 1, 0.5, True, NOON), ("", None, None, None, None), ("b", 2**62, 1, False, NOON)],
)
LIBRARIES: list[Library] = ["polars", "pandas"]


def rows(library: Library, table: Table) -> list[tuple[Any, ...]]:
    """Return the rows of a frame; absent values as None."""
    if library == "polars":
        return table.to_frame("polars").rows()
    frame = table.to_frame("pandas").astype(object)
    return list(frame.where(frame.notna(), None).itertuples(index=False, name=None))


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_keep_their_type_and_absent_ones_are_null(library: Library) -> None:
    first, absent, last = rows(library, TABLE)
    assert first == ("a", 1, 0.5, True, NOON)
    assert absent == (None,) * 5
    assert last == ("b", 2**62, 1.0, False, NOON)
    assert [type(value) for value in last[:4]] == [str, int, float, bool]


@pytest.mark.parametrize("rows", [TABLE.rows, [], [(None,) * 5]], ids=["values", "no rows", "absent values"])
def test_types_do_not_depend_on_values(rows: list[tuple[Cell, ...]]) -> None:
    table = Table(TABLE.types, rows)
    polars = [str(kind) for kind in table.to_frame("polars").dtypes]
    assert polars == ["String", "Int64", "Float64", "Boolean", "Datetime(time_unit='us', time_zone='UTC')"]
    pandas = [str(kind) for kind in table.to_frame("pandas").dtypes]
    assert pandas == ["string", "Int64", "Float64", "boolean", "datetime64[us, UTC]"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_column_of_text_has_other_values_as_text(library: Library) -> None:
    assert rows(library, Table({"axis": str}, [(1,), (True,), ("x",), (0.5,)])) == [("1",), ("true",), ("x",), ("0.5",)]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        pytest.param([1, None, 2], int, id="integers"),
        pytest.param([1, 2.5], float, id="integers and floats"),
        pytest.param([True, False], bool, id="booleans"),
        pytest.param([True, 1], str, id="booleans and integers"),
        pytest.param([1, "a"], str, id="numbers and text"),
        pytest.param([2**63 - 1], int, id="the largest integer of 64 bits"),
        pytest.param([2**63], str, id="a larger integer"),
        pytest.param([2**64, 0.5], str, id="a larger integer and a float"),
        pytest.param([None], float, id="no value: the default"),
        pytest.param([], float, id="no cell: the default"),
    ],
)
def test_common_type(cells: list[Cell], kind: ColumnType) -> None:
    assert common_type(cells, float) is kind


@pytest.mark.parametrize(
    ("absent", "chosen"),
    [
        pytest.param([], "polars", id="both are installed"),
        pytest.param(["pandas"], "polars", id="only polars"),
        pytest.param(["polars"], "pandas", id="only pandas"),
    ],
)
def test_polars_is_preferred(monkeypatch: pytest.MonkeyPatch, absent: list[str], chosen: str) -> None:
    for library in absent:
        monkeypatch.setitem(sys.modules, library, None)
    assert type(TABLE.to_frame()).__module__.partition(".")[0] == chosen


@pytest.mark.parametrize(
    ("library", "problem"),
    [
        (None, "a data frame needs polars or pandas\n  pip install polars, or pip install pandas"),
        ("polars", "a data frame of polars needs polars\n  pip install polars"),
        ("pandas", "a data frame of pandas needs pandas\n  pip install pandas"),
    ],
)
def test_the_error_names_the_command_that_installs(
    monkeypatch: pytest.MonkeyPatch, library: Literal["polars"] | None, problem: str
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnsupportedError) as error:
        TABLE.to_frame(library)
    assert str(error.value) == problem


def test_another_library_is_refused() -> None:
    other: Any = "numpy"
    with pytest.raises(InputError, match="'polars' or 'pandas' is expected"):
        TABLE.to_frame(other)


class Installed:
    """A distribution with this ``direct_url.json``."""

    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.direct_url


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        pytest.param(None, "pip install 'kschedctl[live]'", id="an index"),
        pytest.param('{"url": "file:///src/k", "dir_info": {}}', "pip install '/src/k[live]'", id="a folder"),
        pytest.param(
            '{"url": "file:///my%20src/k", "dir_info": {"editable": true}}',
            "pip install --editable '/my src/k[live]'",
            id="an editable folder, with a space",
        ),
        pytest.param(
            '{"url": "https://git.example.com/k.git", "vcs_info": {"vcs": "git", "commit_id": "4be1"}}',
            "pip install 'kschedctl[live] @ git+https://git.example.com/k.git@4be1'",
            id="a repository",
        ),
        pytest.param(
            '{"url": "https://example.com/k.whl", "archive_info": {}}',
            "pip install 'kschedctl[live] @ https://example.com/k.whl'",
            id="an archive",
        ),
    ],
)
def test_install_command(monkeypatch: pytest.MonkeyPatch, direct_url: str | None, command: str) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(direct_url))
    assert install_command("live") == command
