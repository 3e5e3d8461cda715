"""Asking rules: each about what it looks at, with what it finds put in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.diagnosis import Diagnosis, in_order, of_file, of_object
from kschedctl.lint.rule import About, Rule


def check(rules: Iterable[Rule], context: Context) -> list[Diagnosis]:
    """What rules find.

    Parameters
    ----------
    rules : iterable of Rule
        Those that are asked. One that needs a snapshot is passed over where there is none.
    context : Context
        What they are asked about.
    """
    found: list[Diagnosis] = []
    for rule in rules:
        if rule.snapshot and context.against is None:
            continue
        found += _found(rule, context)
    return in_order(found)


def _found(rule: Rule, context: Context) -> Iterator[Diagnosis]:
    match rule.about:
        case About.PODS:
            for pods in context.pods:
                yield from (of_object(rule, problem, pods.obj) for problem in rule.check(pods, context))
        case About.OBJECT:
            for obj in context.given.objects:
                yield from (of_object(rule, problem, obj) for problem in rule.check(obj, context))
        case About.FILE:
            for file in context.given.files:
                yield from (of_file(rule, problem, file) for problem in rule.check(file, context))
        case About.IGNORES:
            return
        case kind:
            for obj in context.given.by_type.get(kind, ()):
                yield from (of_object(rule, problem, obj) for problem in rule.check(obj, context))
