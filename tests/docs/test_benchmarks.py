"""Pages quote the figures of benchmarks/RESULTS.md, which one command writes. Rewritten by: make golden"""

import re
from pathlib import Path

import pytest

from benchmarks.results import ROOT, SECTIONS
from benchmarks.results_page import QUOTES, Environment, Result, Section, figures, page
from benchmarks.rows import Row

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
