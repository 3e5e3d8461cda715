"""Linting texts in tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kschedctl.lint.checking import check
from kschedctl.lint.context import Context
from kschedctl.lint.diagnosis import Diagnosis
from kschedctl.lint.given import GivenSet
from kschedctl.lint.reading import read_text
from kschedctl.lint.rule import About, Rule
from kschedctl.lint.rules import RULES
from kschedctl.lint.run import LintOptions, lint_files


def lint(
    texts: str | Mapping[str, str], rules: str | Iterable[Rule] = RULES, *, namespace: str = "", **options: Any
) -> list[Diagnosis]:
    """What rules find in texts, by the names of their files; those of a prefix, or all of them, off or not."""
    named = {"manifest.yaml": texts} if isinstance(texts, str) else texts
    files = [read_text(text.encode(), name) for name, text in named.items()]
    asked = [rule for rule in RULES if rule.code.startswith(rules)] if isinstance(rules, str) else list(rules)
    if any(rule.about == About.IGNORES for rule in asked):
        codes = {rule.code for rule in asked}
        found = lint_files(files, LintOptions(rules=[rule for rule in RULES if rule.on or rule.code in codes])).found
        return [each for each in found if each.rule.code in codes]
    return check(asked, Context(GivenSet(files, namespace), **options))


def told(found: Iterable[Diagnosis]) -> list[str]:
    """Findings as short texts."""
    return [f"{each.region.line}:{each.region.column} {each.rule.code} {each.severity}" for each in found]
