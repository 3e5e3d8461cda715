from __future__ import annotations

import pytest

from conformance import parity
from conformance.parity import Count


def test_page_and_readme_say_what_the_recordings_and_the_gaps_say(request: pytest.FixtureRequest) -> None:
    found = parity.counts()
    written = parity.README.read_text()
    made = {parity.PAGE: parity.page(found), parity.README: parity.with_line(written, parity.line(found))}
    if request.config.getoption("--rewrite-golden"):
        for path, text in made.items():
            path.write_text(text)
    assert {path: path.read_text() for path in made} == made, "make parity writes them anew"


def test_readme_has_the_line_once() -> None:
    assert parity.README.read_text().count("<!-- parity -->") == 1
    assert parity.line(parity.counts()) in parity.README.read_text()


def test_totals_are_over_all_releases_and_themes() -> None:
    found = [Count("1.35", "taints", 150, 0), Count("1.36", "taints", 140, 4), Count("1.36", "ports", 1000, 1)]
    assert parity.line(found).startswith("1,285 of 1,290 recorded answers of the real kube-scheduler (1.35, 1.36) are")


def test_a_theme_that_a_release_has_no_answers_to_is_left_empty() -> None:
    page = parity.page(
        [Count("1.35", "taints", 150, 0), Count("1.36", "taints", 140, 4), Count("1.36", "ports", 10, 1)]
    )
    rows = [row for row in page.splitlines() if row.startswith(("| theme", "| taints", "| ports", "| **all**"))]
    assert rows[1:] == [
        "| taints | 150 of 150 | 136 of 140 |",
        "| ports |  | 9 of 10 |",
        "| **all** | **150 of 150** | **145 of 150** |",
    ]


def test_readme_without_markers_stays_as_it_is() -> None:
    assert parity.with_line("no markers", "x") == "no markers"
    assert parity.with_line("<!-- parity -->\nold\n<!-- /parity -->", "x") == "<!-- parity -->\nx\n<!-- /parity -->"
