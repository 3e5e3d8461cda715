"""CI runs the tests that ``make check`` leaves out, and ``make check`` leaves out only tests that are marked."""

import ast
import re
from pathlib import Path

from tests.paths import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


def is_live(text: str) -> bool:
    steps = [ast.unparse(step) for step in ast.parse(text).body if isinstance(step, ast.Assign)]
    marks = [step for step in steps if step.startswith("pytestmark = ")]
    return "pytest.mark.live" in marks[-1] if marks else False


def test_ci_runs_what_make_check_leaves_out() -> None:
    assert '-m "not slow and not live and not browser"' in recipe("test")
    assert '-m "(slow or hypothesis) and not live" --hypothesis-profile=full' in recipe("slow")
    assert "-m live tests/live" in recipe("live")
    assert "-m browser tests/browser" in recipe("browser")
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[-4:] == ["make check", "make slow", "make live", "make browser"]


def test_only_tests_of_live_clusters_ask_a_control_plane() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    asking = {path for path, text in texts.items() if "ControlPlane" in text}
    marked = {path for path, text in texts.items() if is_live(text)}
    assert marked == asking
    assert {path.parent.name for path in marked} == {"live"}


def test_only_tests_in_a_browser_are_left_out_with_it() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    marked = {path for path, text in texts.items() if "pytestmark = pytest.mark.browser\n" in text}
    assert marked == {path for path, text in texts.items() if "browser: Browser" in text}
    assert {path.parent.name for path in marked} == {"browser"}


def test_recorded_answers_are_left_out_of_make_check() -> None:
    text = (ROOT / "tests" / "conformance" / "test_recorded_answers.py").read_text()
    assert text.count("@pytest.mark.slow") == 1
