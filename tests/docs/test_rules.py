"""docs/rules.md is made of the rules' own pages. Rewritten by: make golden"""

from pathlib import Path

import pytest

from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES
from tools.rules_page import page

FILE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_what_the_rules_say(request: pytest.FixtureRequest) -> None:
    text = page()
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(text)
    assert FILE.read_text() == text, "make golden writes it anew"


def test_every_rule_has_a_code_and_a_name_of_its_own() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_check_is_named_after_its_rule(rule: Rule) -> None:
    assert rule.check.__name__.replace("_", "") == rule.name.replace("-", "")
