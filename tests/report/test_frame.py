"""What stands around an answer."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from kschedctl.report.frame import print_cautions


def printed(warnings: list[str]) -> list[str]:
    console = Console(file=StringIO(), width=80)
    with console.capture() as capture:
        print_cautions(console, warnings, (), ())
    return [line.rstrip() for line in capture.get().splitlines()]


def test_nothing_to_say() -> None:
    assert printed([]) == []


def test_many_warnings_are_counted() -> None:
    lines = printed([f"number {i}" for i in range(25)])
    assert lines[:2] == ["", "warning: number 0"]
    assert lines[-1] == "and 15 warnings more: -o json has them all"
    assert len(lines) == 12
