import pytest

from conformance import parity
from conformance.parity import Count


def test_page_and_readme_say_what_the_recordings_and_the_gaps_say(request: pytest.FixtureRequest) -> None:
    made = parity.written_anew()
    if request.config.getoption("--rewrite-golden"):
        for path, text in made.items():
            path.write_text(text)
    assert {path: path.read_text() for path in made} == made, "make parity writes them anew"


def test_readme_has_the_line_once() -> None:
    # The test above compares the line itself; counting the recordings takes seconds.
    assert parity.README.read_text().count("<!-- parity -->") == 1


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


def test_sequences_stand_for_themselves_with_their_races() -> None:
    found = [Count("1.36", "taints", 150, 0)]
    many = [Count("1.36", "sequence", 150, 2), Count("1.37", "sequence", 1050, 1)]
    assert "150 of 150 recorded answers" in parity.line(found, many)
    assert ", and 1,197 of 1,200 runs of many pods: " in parity.line(found, many)
    page = parity.page(found, many)
    assert "| **all** | **150 of 150** |" in page
    assert "| single pods | 148 of 150 | 1049 of 1050 |\n| races | 2 | 1 |\n" in page
    assert "The others (3) are races" in page


def test_without_sequences_nothing_is_said_of_them() -> None:
    found = [Count("1.36", "taints", 150, 0)]
    assert "many pods" not in parity.line(found) + parity.page(found).lower()


def test_every_recorded_sequence_is_counted() -> None:
    found = {(one.theme, one.release): (one.cases, one.gaps) for one in parity.sequence_counts()}
    assert found == {
        ("sequence", "1.34"): (150, 0),
        ("sequence", "1.35"): (150, 0),
        ("sequence", "1.36"): (150, 2),
        ("sequence", "1.37"): (150, 1),
        ("groups", "1.36"): (245, 0),
        ("groups", "1.37"): (249, 0),
        ("sequence", "1.38"): (150, 2),
        ("groups", "1.38"): (250, 0),
        ("trees", "1.38"): (148, 0),
    }
