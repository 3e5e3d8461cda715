"""Plain values are read as typer reads them, and all others by typer."""

from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer
import typer.main

from kschedctl.cli.help import Command
from kschedctl.cli.values import read_plainly


class Size(StrEnum):
    """The values of an option."""

    SMALL = "small"
    LARGE = "large"


def show(
    names: Annotated[list[str] | None, typer.Argument()] = None,
    text: Annotated[str, typer.Option("--text")] = "",
    texts: Annotated[list[str] | None, typer.Option("--texts")] = None,
    is_on: Annotated[bool, typer.Option("--on")] = False,
    size: Annotated[Size, typer.Option("--size")] = Size.SMALL,
    number: Annotated[int, typer.Option("--number", min=1, max=20)] = 2,
    any_number: Annotated[int | None, typer.Option("--any-number")] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.5)] = 1.5,
) -> None:
    raise RuntimeError([names, text, texts, is_on, size, number, any_number, seconds])


def outcome(kind: type[Any] | None, arguments: list[str]) -> tuple[str, str]:
    """Return what the function gets, or the error."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(cls=kind)(show)
    try:
        typer.main.get_command(app).main(arguments, standalone_mode=False)
    except Exception as error:
        return type(error).__name__, str(error)
    raise AssertionError


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a b --text c --texts d --texts e --on",
        "--text=",
        "--size large",
        "--size LARGE",
        "--size huge",
        "--number 20",
        "--number 007",
        "--number 21",
        "--number 0",
        "--number -1",
        "--number +3",
        "--number 3.0",
        "--number 1_0",
        "--number three",
        "--number ٣",
        "--any-number 0",
        "--any-number -7",
        "--any-number 123456789012345678901234567890",
        "--seconds 2",
        "--seconds 2.5",
        "--seconds 0",
        "--seconds nan",
        "--seconds 1e3",
        "--text",
        "--nonsense",
    ],
)
def test_values_are_those_of_typer(line: str) -> None:
    assert outcome(Command, line.split()) == outcome(None, line.split())


def test_parameters_of_another_version_are_left_to_typer() -> None:
    class Parameter:
        def get_runtime_param(self) -> Any:
            return self

        def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
            return f"typer's {value}"

    assert read_plainly(Parameter()).get_runtime_param().coerce("x", param=Parameter(), ctx=None) == "typer's x"
    assert read_plainly("no parameter") == "no parameter"
