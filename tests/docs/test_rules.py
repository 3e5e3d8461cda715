"""docs/rules.md is made of the rules' own pages. Rewritten by: make golden"""

from __future__ import annotations

import pytest

from kschedctl.linter.rules import RULES
from tests.paths import ROOT
from tools.rules_page import page

FILE = ROOT / "docs" / "rules.md"


def test_the_page_is_what_the_rules_say(request: pytest.FixtureRequest) -> None:
    text = page()
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(text)
    assert FILE.read_text() == text, "make golden writes it anew"


def test_every_rule_has_a_code_and_a_name_of_its_own() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_module_is_named_after_its_rule(rule: object) -> None:
    name, module = rule.name, rule.module  # type: ignore[attr-defined]
    assert module.partition(".")[2] == name.replace("-", "_") or module.partition(".")[2] in SPLIT


#: Names that Kubernetes writes as one word.
SPLIT = {"scheduler_name_unserved", "immediate_zonal"}
