"""What is left out of ``make check`` is run by CI, and nothing but what is marked so is left out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


def test_ci_runs_what_make_check_leaves_out() -> None:
    assert '-m "not slow and not live"' in recipe("test")
    assert '-m "(slow or hypothesis) and not live" --hypothesis-profile=full' in recipe("slow")
    assert "-m live tests/live" in recipe("live")
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[-3:] == ["make check COVERAGE=1", "make slow", "make live"]


def test_only_tests_of_live_clusters_ask_a_control_plane() -> None:
    asking = [path for path in (ROOT / "tests").rglob("test_*.py") if "ControlPlane" in path.read_text()]
    marked = [path for path in (ROOT / "tests").rglob("*.py") if "pytestmark = pytest.mark.live\n" in path.read_text()]
    assert {path for path in asking if path != Path(__file__)} <= set(marked)
    assert {path.parent.name for path in marked} == {"live"}


def test_recorded_answers_are_left_out_of_make_check() -> None:
    text = (ROOT / "tests" / "conformance" / "test_recorded_answers.py").read_text()
    assert text.count("@pytest.mark.slow") == 1
