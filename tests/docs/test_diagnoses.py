"""docs/diagnoses.md is made of the rules' docstrings. Rewritten by: make golden"""

from __future__ import annotations

import pytest

from kschedctl.diagnosis.rules import LAST, OF_BOUND, RULES, RULES_OF_FAILED, RULES_OF_PLACED, DiagnosisRule
from tests.paths import ROOT
from tools.diagnoses_page import page

FILE = ROOT / "docs" / "diagnoses.md"


def test_the_page_is_what_the_rules_say(request: pytest.FixtureRequest) -> None:
    text = page()
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(text)
    assert FILE.read_text() == text, "make golden writes it anew"


@pytest.mark.parametrize(
    "rule", [*RULES, LAST, *RULES_OF_FAILED, *RULES_OF_PLACED, OF_BOUND], ids=lambda rule: rule.module
)
def test_a_rule_says_in_its_first_line_what_it_finds(rule: DiagnosisRule) -> None:
    first, _, rest = (rule.load().__doc__ or "").partition("\n")
    assert first.endswith(".") or not rest.startswith("\n"), first
