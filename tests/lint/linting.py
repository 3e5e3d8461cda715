"""Linting texts in tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from kschedctl.lint.against import Against
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
    given = GivenSet(files, namespace)
    snapshot = options.pop("snapshot", None)
    against = laid_over(snapshot, given) if snapshot else None
    return check(asked, Context(given, against=against, **options))


def laid_over(snapshot: str, given: GivenSet) -> Against:
    """A given set laid over a snapshot that is a text."""
    from kschedctl.lint.cluster.laid_over import LaidOver
    from kschedctl.loading import read_snapshot

    return LaidOver(read_snapshot("-", stdin=BytesIO(snapshot.encode())), given)


def told(found: Iterable[Diagnosis]) -> list[str]:
    """Findings as short texts."""
    return [f"{each.region.line}:{each.region.column} {each.rule.code} {each.severity}" for each in found]
