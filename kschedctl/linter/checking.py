"""Running of rules on their subjects, with the problems that they find as diagnoses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kschedctl.linter.context import Context
from kschedctl.linter.diagnosis import Diagnosis, in_order, of_file, of_object
from kschedctl.linter.ignore import Ignore
from kschedctl.linter.ignoring import Ignores
from kschedctl.linter.reading import LintFile
from kschedctl.linter.rule import About, Problem, Rule


def check(rules: Iterable[Rule], context: Context) -> list[Diagnosis]:
    """Return the findings of rules.

    Parameters
    ----------
    rules : iterable of Rule
        The rules to run. Rules that need a snapshot are skipped if there is none.
    context : Context
        The manifests to check.
    """
    found: list[Diagnosis] = []
    for rule in rules:
        if rule.snapshot and context.overlay is None:
            continue
        found += _found(rule, context)
    return in_order(found)


def _found(rule: Rule, context: Context) -> Iterator[Diagnosis]:
    match rule.about:
        case About.PODS:
            for pods in context.pods:
                yield from (of_object(rule, problem, pods.obj) for problem in rule.check(pods, context))
        case About.OBJECT:
            for obj in context.manifests.objects:
                yield from (of_object(rule, problem, obj) for problem in rule.check(obj, context))
        case About.FILE:
            for file in context.manifests.files:
                yield from (of_file(rule, problem, file) for problem in rule.check(file, context))
        case About.IGNORES:
            return
        case kind:
            for obj in context.manifests.by_type.get(kind, ()):
                yield from (of_object(rule, problem, obj) for problem in rule.check(obj, context))


def unused_ignores(rule: Rule, ignores: Ignores, asked: Sequence[Rule], context: Context) -> Iterator[Diagnosis]:
    """Yield the findings of a rule about ignores.

    Parameters
    ----------
    asked : sequence of Rule
        The rules that ran. An ignore for other rules is not checked, as it may suppress findings in another run.
    """
    codes = {each.code for each in asked if not each.snapshot or context.overlay is not None}
    for ignore in ignores.every():
        if ignore.codes is not None and not ignore.unknown and codes.isdisjoint(ignore.codes):
            continue
        for problem in rule.check(ignore, context):
            yield _diagnosis(rule, problem, ignore, context)


def _diagnosis(rule: Rule, problem: Problem, ignore: Ignore, context: Context) -> Diagnosis:
    if ignore.object is not None:
        return of_object(rule, problem, ignore.object)
    file = next((each for each in context.manifests.files if each.name == ignore.file), None)
    return of_file(rule, problem, file if file is not None else LintFile(ignore.file, b""))
