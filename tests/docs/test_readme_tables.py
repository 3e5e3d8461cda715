"""README lists all commands, what-ifs and exit codes, and its picture is current. Rewritten by: make golden"""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import typer

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.main import app
from kschedctl.cli.streams import ExitCode
from kschedctl.trials.whatif.edits import EDITS
from tests.paths import ROOT
from tools import picture

README = ROOT / "README.md"


def commands() -> str:
    """Return the table of commands, with the first sentence of their help."""
    program: Any = typer.main.get_command(app)
    rows = ["| command | what it does |", "|---|---|"]
    for name in COMMANDS:
        first = re.split(r"(?<=\.)\s", " ".join(program.commands[name].help.split()))[0]
        rows.append(f"| `kschedctl {name}` | {first} |")
    return "\n".join(rows)


def what_ifs() -> str:
    """Return the table of what-ifs, with their help."""
    rows = ["| option | what if |", "|---|---|"]
    for edit in EDITS:
        state = edit.option.help.removeprefix("Answer as if ").replace("|", "\\|")
        value = edit.option.metavar.replace("|", "\\|")
        rows.append(f"| `{edit.option.flag}` `{value}` | {state} |")
    return "\n".join(rows)


@pytest.mark.parametrize(("name", "made"), [("commands", commands), ("what-ifs", what_ifs)])
def test_readme_lists_what_there_is(name: str, made: Callable[[], str], request: pytest.FixtureRequest) -> None:
    written = README.read_text()
    block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    assert len(block.findall(written)) == 1
    text = block.sub(lambda found: f"{found[1]}{made()}\n{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        README.write_text(text)
    else:
        assert written == text, "make golden rewrites the tables"


def exit_codes() -> str:
    return README.read_text().partition("## Exit codes\n")[2].partition("\n## ")[0]


def test_every_command_says_when_its_exit_code_is_0_and_1() -> None:
    rows = [line for line in exit_codes().splitlines() if line.startswith("| `")]
    assert [re.findall(r"`([a-z]+)[^`]*`", row.split("|")[1])[0] for row in rows] == list(COMMANDS)


def test_every_exit_code_is_told() -> None:
    assert "| command | 0 | 1 |" in exit_codes()
    assert [0, 1, *map(int, re.findall(r"^\| ([0-9]+) \|", exit_codes(), re.MULTILINE))] == list(ExitCode)


def test_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 340


def test_the_picture_shows_what_the_command_prints(request: pytest.FixtureRequest) -> None:
    made = picture.picture()
    if request.config.getoption("--rewrite-golden"):
        if picture.lines(picture.PATH.read_text()) != picture.lines(made):
            picture.PATH.write_text(made)
    else:
        assert picture.lines(picture.PATH.read_text()) == picture.lines(made), "make golden draws it anew"


def test_the_picture_is_complete_and_fetches_nothing() -> None:
    svg = picture.PATH.read_text()
    shown = "\n".join(picture.lines(svg))
    assert shown.startswith(f"$ {picture.COMMAND}\n")
    # Other programs than browsers draw it from what stands in it alone.
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "url(http" not in svg
    assert "0/15 nodes are available: 1 node(s) were unschedulable, 6 node(s) had untolerated taint(s), 8 Ins" in shown
    assert f"![{picture.COMMAND.partition(' --')[0]}" in README.read_text()
