"""Each rule finds what its failing example marks, and nothing in the passing one."""

import re

import pytest

from kschedctl.linter.rule import Rule, Stage
from kschedctl.linter.rules import RULES
from tests.linter.linting import lint

MARK = "# <-"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_failing_example_fails_where_it_is_marked(rule: Rule) -> None:
    marked = [
        number for number, line in enumerate(rule.failing_manifests.splitlines(), 1) if line.rstrip().endswith(MARK)
    ]
    found = lint(rule.failing_manifests, [rule], **rule.options)
    assert marked
    assert sorted({each.region.line for each in found}) == marked


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_passing_example_passes(rule: Rule) -> None:
    assert rule.passing_manifests != rule.failing_manifests
    assert [each.message for each in lint(rule.passing_manifests, [rule], **rule.options)] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_says_what_why_where_and_how_to_repair(rule: Rule) -> None:
    what, *rest = rule.page.split("\n\n")
    assert what.endswith(".")
    assert rest, "say why, and where it stops"
    assert any(part.startswith("Repair: ") for part in rest) or rule.counted


#: Words with which a page describes the effect at a stage.
EFFECTS = {
    Stage.REFUSED: ("refuses", "never receives"),
    Stage.PODS_REFUSED: ("refuses",),
    Stage.WAITS: ("pending", "wait", "never start"),
    Stage.HANGS: ("hang", "rollout", "drain"),
}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.stop is not None], ids=lambda rule: rule.code)
def test_the_page_describes_the_effect_that_the_heading_of_a_finding_names(rule: Rule) -> None:
    assert rule.stop is not None
    effect = " ".join(part for part in rule.page.split("\n\n")[1:] if not part.startswith("Repair: "))
    assert any(word in effect for word in EFFECTS[rule.stop])
    assert not re.search(r"nothing is (blocked|pending)\b(?! until)|has no effect\.", effect, re.IGNORECASE)
