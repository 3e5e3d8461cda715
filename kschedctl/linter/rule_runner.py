"""Running of rules on their subjects, with the problems that they find as diagnoses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kschedctl.linter.context import LintContext
from kschedctl.linter.diagnosis import Diagnosis, file_diagnosis, object_diagnosis, sorted_diagnoses
from kschedctl.linter.ignore import Ignore
from kschedctl.linter.ignores import Ignores
from kschedctl.linter.lint_files import LintFile
from kschedctl.linter.rule import Problem, Rule, RuleSubject


def check(rules: Iterable[Rule], context: LintContext) -> list[Diagnosis]:
    """Return the findings of rules.

    Parameters
    ----------
    rules : iterable of Rule
        The rules to run. Rules that need a snapshot are skipped if there is none.
    context : LintContext
        The manifests to check.
    """
    found: list[Diagnosis] = []
    for rule in rules:
        if rule.snapshot and context.overlay is None:
            continue
        found += _found(rule, context)
    return sorted_diagnoses(found)


def _found(rule: Rule, context: LintContext) -> Iterator[Diagnosis]:
    match rule.about:
        case RuleSubject.PODS:
            for pods in context.workloads:
                yield from (object_diagnosis(rule, problem, pods.obj) for problem in rule.check(pods, context))
        case RuleSubject.OBJECT:
            for obj in context.manifests.objects:
                yield from (object_diagnosis(rule, problem, obj) for problem in rule.check(obj, context))
        case RuleSubject.FILE:
            for file in context.manifests.files:
                yield from (file_diagnosis(rule, problem, file) for problem in rule.check(file, context))
        case RuleSubject.IGNORES:
            return
        case kind:
            for obj in context.manifests.by_type.get(kind, ()):
                yield from (object_diagnosis(rule, problem, obj) for problem in rule.check(obj, context))


def unused_ignores(rule: Rule, ignores: Ignores, asked: Sequence[Rule], context: LintContext) -> Iterator[Diagnosis]:
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
        # A Deployment's annotations are copied to its ReplicaSets, those of its template to its pods.
        if ignore.object in context.owned:
            continue
        for problem in rule.check(ignore, context):
            yield _diagnosis(rule, problem, ignore, context)


def _diagnosis(rule: Rule, problem: Problem, ignore: Ignore, context: LintContext) -> Diagnosis:
    if ignore.object is not None:
        return object_diagnosis(rule, problem, ignore.object)
    file = next((each for each in context.manifests.files if each.name == ignore.file), None)
    return file_diagnosis(rule, problem, file if file is not None else LintFile(ignore.file, b""))
