"""docs/diagnoses.md is made of the rules' docstrings. Rewritten by: make golden"""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedctl.diagnosis.diagnose import (
    cluster_rules,
    last_rule,
    rules_of_failed,
    rules_of_gated,
    rules_of_placed,
    rules_of_unscheduled,
)
from tools.diagnoses_page import page

FILE = Path(__file__).parents[2] / "docs" / "diagnoses.md"


def test_the_page_is_what_the_rules_say(request: pytest.FixtureRequest) -> None:
    text = page()
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(text)
    assert FILE.read_text() == text, "make golden writes it anew"


RULES = [
    *rules_of_unscheduled(),
    last_rule(),
    *rules_of_failed(),
    *rules_of_placed(),
    *rules_of_gated(),
    *cluster_rules(),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_says_in_its_first_line_what_it_finds(rule: Callable[..., object]) -> None:
    first, _, rest = (inspect.getdoc(rule) or "").partition("\n")
    assert first.endswith(".") or not rest.startswith("\n"), first
