"""What an API server says of the objects that are given, as problems of rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from kschedctl.findings.finding import Finding
from kschedctl.lint.context import Context
from kschedctl.lint.field_steps import steps_of
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import at, is_rendered
from kschedctl.validation.validate import validate


@dataclass
class _Told:
    """What was said of the objects of one run, as two rules ask."""

    of: dict[int, list[Finding]] = field(default_factory=dict)


_told: WeakKeyDictionary[Context, _Told] = WeakKeyDictionary()


def said_of(obj: GivenObject, context: Context) -> list[Finding]:
    """What an API server says when the object is created; nothing of partial ones."""
    if obj.partial:
        return []
    told = _told.setdefault(context, _Told()).of
    if id(obj) not in told:
        told[id(obj)] = list(validate(obj.api_version, obj.kind, obj.raw, context.release))
    return told[id(obj)]


def problem(finding: Finding, obj: GivenObject) -> Iterator[Problem]:
    """A finding as a problem, unless it is about what is not filled in yet."""
    steps = steps_of(obj.raw, finding.field)
    if is_rendered(finding.problem) and is_rendered(at(obj.raw, *steps)):
        # As an API server writes it; what it cannot read names the field itself.
        named = bool(finding.field) and not finding.problem.startswith("json: ")
        message = f"{finding.field}: {finding.problem}" if named else finding.problem
        yield Problem(message=message, steps=steps, help=finding.hint)
