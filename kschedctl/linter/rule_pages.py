"""Conversion of rules to their pages as data."""

from __future__ import annotations

from collections.abc import Sequence

from kschedctl.linter.rule import Rule
from kschedctl.questions.answers.rule import RulePage, RulePages


def pages(rules: Sequence[Rule]) -> RulePages:
    """Return the pages of rules."""
    return RulePages(
        items=tuple(
            RulePage(
                code=rule.code,
                name=rule.name,
                severity=rule.severity.value,
                on=rule.on,
                place=rule.stop.value if rule.stop is not None else None,
                place_in_words=rule.stop.words if rule.stop is not None else "",
                needs_snapshot=rule.snapshot,
                page=rule.page,
                fails=rule.fails,
                passes=rule.passes,
            )
            for rule in rules
        )
    )
