"""docs/diagnoses.md is made of the rules' docstrings. Rewritten by: make golden"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kschedctl.diagnosis.rules import LAST, RULES, RULES_OF_FAILED, RULES_OF_PLACED, Rule
from tools.diagnoses_page import page

FILE = Path(__file__).parents[2] / "docs" / "diagnoses.md"


def test_the_page_is_what_the_rules_say(request: pytest.FixtureRequest) -> None:
    text = page()
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(text)
    assert FILE.read_text() == text, "make golden writes it anew"


@pytest.mark.parametrize(
    "rule", [*RULES, LAST, *RULES_OF_FAILED, *RULES_OF_PLACED], ids=lambda rule: rule.__module__.rpartition(".")[2]
)
def test_a_rule_says_in_its_first_line_what_it_finds(rule: Rule) -> None:
    first, _, rest = (sys.modules[rule.__module__].__doc__ or "").partition("\n")
    assert first.endswith(".") or not rest.startswith("\n"), first
