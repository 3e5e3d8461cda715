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
    assert '-m "not slow"' in recipe("test")
    assert '-m "slow or hypothesis" --hypothesis-profile=full' in recipe("slow")
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[-2:] == ["make check", "make slow"]


def test_recorded_answers_are_left_out_of_make_check() -> None:
    text = (ROOT / "tests" / "conformance" / "test_recorded_answers.py").read_text()
    assert text.count("@pytest.mark.slow") == 1
