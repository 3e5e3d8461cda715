"""Lint texts in tests."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from kschedctl.linter.context import LintContext
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.lint_finding import LintFinding
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.overlay import ClusterOverlay
from kschedctl.linter.rule import Rule, RuleSubject
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, check, lint_files
from tests.builders import load_engine


def lint(
    texts: str | Mapping[str, str], rules: str | Iterable[Rule] = RULES, *, namespace: str = "", **options: Any
) -> list[LintFinding]:
    """Return the findings of rules in texts by file name; a string selects rules by prefix, whether enabled or not."""
    named = {"manifest.yaml": texts} if isinstance(texts, str) else texts
    files = [read_text(text.encode(), name) for name, text in named.items()]
    for file in files:
        file.inside = file.name
    asked = [rule for rule in RULES if rule.code.startswith(rules)] if isinstance(rules, str) else list(rules)
    if any(rule.about == RuleSubject.IGNORES for rule in asked):
        codes = {rule.code for rule in asked}
        found = lint_files(files, LintRequest(rules=[rule for rule in RULES if rule.on or rule.code in codes])).found
        return [each for each in found if each.rule.code in codes]
    given = LintManifests(files, namespace)
    snapshot, gates = options.pop("snapshot", None), options.pop("feature_gates", None)
    overlay = overlay_of(snapshot, given, gates) if snapshot else None
    return check(asked, LintContext(given, overlay=overlay, **options))


def overlay_of(snapshot: str, given: LintManifests, gates: Mapping[str, bool] | None = None) -> ClusterOverlay:
    """Return manifests applied to a snapshot, which is a text, with some feature gates."""
    return ClusterOverlay(load_engine("-", stdin=BytesIO(snapshot.encode()), feature_gates=gates), given)


def told(found: Iterable[LintFinding]) -> list[str]:
    """Return findings as short texts."""
    return [f"{each.region.line}:{each.region.column} {each.rule.code} {each.severity}" for each in found]
