"""Findings of the API server's validation of manifests, as problems of rules."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Finding
from kschedctl.linter.context import LintContext
from kschedctl.linter.field_steps import steps_of
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at, is_rendered
from kschedctl.objects.validation.validate import validate


def validation_findings(obj: LintObject, context: LintContext) -> list[Finding]:
    """Return the findings of an API server that creates the object; none for partial objects. Results are cached."""
    if obj.partial:
        return []
    if obj not in context.refusals:
        context.refusals[obj] = list(validate(obj.api_version, obj.kind, obj.raw, context.release))
    return context.refusals[obj]


def problem(finding: Finding, obj: LintObject) -> Iterator[Problem]:
    """Yield a finding as a problem, unless the finding is about an unfilled placeholder."""
    steps = steps_of(obj.raw, finding.field)
    if is_rendered(finding.problem) and is_rendered(at(obj.raw, *steps)):
        # The API server writes the field before the problem; an error of decoding names the field itself.
        named = bool(finding.field) and not finding.problem.startswith("json: ")
        message = f"{finding.field}: {finding.problem}" if named else finding.problem
        yield Problem(message=message, steps=steps, help=finding.hint)
