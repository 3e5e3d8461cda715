"""What an API server says of the objects that are given, as problems of rules."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.findings.finding import Finding
from kschedctl.linter.context import Context
from kschedctl.linter.field_steps import steps_of
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at, is_rendered
from kschedctl.validation.validate import validate


def said_of(obj: ManifestObject, context: Context) -> list[Finding]:
    """What an API server says when the object is created; nothing of partial ones."""
    if obj.partial:
        return []
    if obj not in context.refusals:
        context.refusals[obj] = list(validate(obj.api_version, obj.kind, obj.raw, context.release))
    return context.refusals[obj]


def problem(finding: Finding, obj: ManifestObject) -> Iterator[Problem]:
    """A finding as a problem, unless it is about what is not filled in yet."""
    steps = steps_of(obj.raw, finding.field)
    if is_rendered(finding.problem) and is_rendered(at(obj.raw, *steps)):
        # As an API server writes it; what it cannot read names the field itself.
        named = bool(finding.field) and not finding.problem.startswith("json: ")
        message = f"{finding.field}: {finding.problem}" if named else finding.problem
        yield Problem(message=message, steps=steps, help=finding.hint)
