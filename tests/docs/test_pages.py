"""README and all pages show the current output of the commands, and name no command that does not exist.

Rewritten by: make golden
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.results import SECTIONS
from benchmarks.results_page import QUOTES, Environment, Result, Section, figures, page
from benchmarks.rows import Row
from kschedctl.cli.main import app
from tests.browser.pictures import MOST_BYTES, PICTURES, path_of
from tests.cli.in_process import AGE, run
from tests.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
#: Other code: in a fence, or indented.
CODE = re.compile(r"^```(?:bash|yaml)\n(.*?)^```$|((?:^    [^\n]*\n)+)", re.MULTILINE | re.DOTALL)
#: A command in other code: it needs a running cluster, or files of the reader.
OTHER = re.compile(r"(?:^|\| )\s*(?:- )?(?:\$ )?(kschedctl [^|\n]*)", re.MULTILINE)
PROGRAM: Any = typer.main.get_command(app)


@cache
def shown(command: str) -> str:
    """Return the output of a command on a terminal of README's width."""
    environment = {key: value for key, value in os.environ.items() if key != "KSCHEDCTL_SNAPSHOT"}
    environment |= {"COLUMNS": "110", "NO_COLOR": "1"}
    if " | " in command:
        return stable(re.sub(r"(?<= UTC, )[0-9]+ days ago", AGE, piped(command, environment)))
    name, *arguments = shlex.split(command)
    assert name == "kschedctl", command
    done = run(*arguments, folder=ROOT, environment=environment)
    assert done.code in (0, 1), done.err
    return stable(done.out + done.err)


def piped(command: str, environment: dict[str, str]) -> str:
    """Return the output of a pipeline, run by a shell."""
    program = f'kschedctl() {{ {shlex.quote(sys.executable)} -m kschedctl "$@"; }}'
    words = ["bash", "-c", f"{program}\n{command}"]
    environment |= {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def stable(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def commands() -> list[tuple[Path, str, str]]:
    """Return the commands of each page with the output shown below them."""
    return [
        (page, command, output.rstrip("\n"))
        for page in PAGES
        for block in BLOCK.findall(page.read_text())
        for command, output in COMMAND.findall(block)
    ]


def other_commands() -> list[tuple[str, str]]:
    """Return the commands of each page that are shown without output."""
    return [
        (page.name, re.split(r" +#| < ", command.strip())[0])
        for page in PAGES
        for block in CODE.finditer(page.read_text())
        for command in OTHER.findall(block[1] or block[2])
    ]


@pytest.mark.parametrize(
    ("page", "command", "output"), commands(), ids=[f"{page.stem}: {command}" for page, command, _ in commands()]
)
def test_pages_show_what_commands_print(page: Path, command: str, output: str, request: pytest.FixtureRequest) -> None:
    printed = shown(command)
    if request.config.getoption("--rewrite-golden"):
        text = page.read_text()
        old = "\n".join([f"$ {command}", *([output] if output else []), "```"])
        assert old in text, "a console block holds one command"
        page.write_text(text.replace(old, "\n".join([f"$ {command}", *([printed] if printed else []), "```"])))
    else:
        assert printed == stable(output)


def check_command(command: str) -> None:
    """Check that a command exists and takes its options, without running it."""
    context = PROGRAM.make_context("kschedctl", shlex.split(command)[1:])
    while rest := [*getattr(context, "_protected_args", ()), *context.args]:
        name, subcommand, rest = context.command.resolve_command(context, rest)
        context = subcommand.make_context(name, rest, parent=context)
    assert context.command_path != "kschedctl"


@pytest.mark.parametrize(("page", "command"), other_commands(), ids=[": ".join(each) for each in other_commands()])
def test_commands_without_output_can_be_given(page: str, command: str) -> None:
    check_command(command)


def test_there_are_commands_of_both_kinds() -> None:
    assert len(commands()) >= 60
    assert len(other_commands()) >= 60


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=lambda page: page.stem)
def test_python_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted >= 5
    assert results.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_first_what_it_is_for(page: Path) -> None:
    head = page.read_text().partition("\n## ")[0]
    if page.parent.name != "adr" and page.name != "README.md":
        assert re.search(r"(pages? (is|are) for|For) people", head)


def test_pictures_are_those_of_the_tests_and_small() -> None:
    expected = {path_of(name, scheme) for name in PICTURES for scheme in ("light", "dark")}
    found = set((ROOT / "docs" / "pictures").glob("*"))
    assert found == expected, "make pictures takes them"
    assert [path.name for path in found if path.stat().st_size >= MOST_BYTES] == []


RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text()
#: A claim about speed outside the quotes: a number with a unit of rates, or of CPU time.
CLAIM = re.compile(r"\d (?:pods/s|MB/s|ms CPU)|\d m?s of CPU|(?:pods|answers|megabytes) (?:a|per) second")


@pytest.mark.parametrize("name", QUOTES)
def test_pages_quote_the_figures_of_the_results(name: str, request: pytest.FixtureRequest) -> None:
    path = ROOT / name
    written = path.read_text()
    quoted = f"<!-- speed -->\n{QUOTES[name](figures(RESULTS))}\n<!-- /speed -->"
    text, n_blocks = re.subn(r"<!-- speed -->\n.*?<!-- /speed -->", quoted, written, flags=re.DOTALL)
    assert n_blocks == 1
    if request.config.getoption("--rewrite-golden"):
        path.write_text(text)
    else:
        assert written == text, "make golden writes the figures"


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_no_page_claims_a_speed_that_is_not_quoted(path: Path) -> None:
    text = re.sub(r"<!-- speed -->.*?<!-- /speed -->", "", path.read_text(), flags=re.DOTALL)
    assert CLAIM.findall(text) == []


def test_the_results_come_from_every_benchmark_and_have_its_date_and_commit() -> None:
    measured = {one.module for benchmarks in SECTIONS.values() for one in benchmarks}
    no_benchmarks = {"results", "results_page", "rows", "synthetic"}
    assert measured == {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - no_benchmarks
    assert re.search(r"^Measured on \d{4}-\d\d-\d\d at commit [0-9a-f]{8}, on .*, with$", RESULTS, re.MULTILINE)
    assert re.findall("^## (.*)", RESULTS, re.MULTILINE) == [*SECTIONS]


def test_figures_are_read_as_they_were_written() -> None:
    plain = Section("Loading", [Result(Row("load", 321.4, "MB/s", "169 MB"), 0.5), Result(Row("other", 2, "ms"), None)])
    scale = Section(
        "Scale",
        [
            Result(Row(what, value, unit), None)
            for what, value, unit in (
                ("50 nodes: load", 2.0, "ms"),
                ("5,000 nodes: load", 29_976.0, "ms"),
                ("exponent: load", 1.0, ""),
            )
        ],
        ["no browser"],
    )
    text = page([plain, scale], Environment("2026-05-04", "abcdef01", "v0.1.0", "2 cores", ["Python 3.11"]))
    assert [line for line in text.splitlines() if "load" in line] == [
        "| load | 321 MB/s | 169 MB | 0.50 |",
        "| load | 2.00 ms | 30.0 s | 1.00 |",
    ]
    assert text.endswith("\nNot measured: no browser\n")
    assert figures(text) == {
        "date": "2026-05-04",
        "load": "321 MB/s",
        "other": "2.00 ms",
        "50 nodes: load": "2.00 ms",
        "5,000 nodes: load": "30.0 s",
        "exponent: load": "1.00",
    }
