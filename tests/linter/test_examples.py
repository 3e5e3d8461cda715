"""Each rule finds what its failing example marks, and nothing in the passing one."""

from __future__ import annotations

import pytest

from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES
from tests.linter.linting import lint

MARK = "# <-"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_failing_example_fails_where_it_is_marked(rule: Rule) -> None:
    marked = [number for number, line in enumerate(rule.fails.splitlines(), 1) if line.rstrip().endswith(MARK)]
    found = lint(rule.fails, [rule], **rule.example_options())
    assert marked
    assert sorted({each.region.line for each in found}) == marked


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_passing_example_passes(rule: Rule) -> None:
    assert rule.passes != rule.fails
    assert [each.message for each in lint(rule.passes, [rule], **rule.example_options())] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_says_what_why_where_and_how_to_repair(rule: Rule) -> None:
    what, *rest = rule.page.split("\n\n")
    assert what.endswith(".")
    assert rest, "say why, and where it stops"
    assert any(part.startswith("Repair: ") for part in rest) or rule.counted
