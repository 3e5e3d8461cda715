"""What the rules about ignores look at: what left nothing out, and what gives no reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedctl.lint.context import Context
from kschedctl.lint.diagnosis import Diagnosis, of_file, of_object
from kschedctl.lint.ignoring import Ignore, Ignores
from kschedctl.lint.reading import LintFile
from kschedctl.lint.rule import Problem, Rule


def unused_ignores(rule: Rule, ignores: Ignores, asked: Sequence[Rule], context: Context) -> Iterator[Diagnosis]:
    """What a rule about ignores finds.

    Parameters
    ----------
    asked : sequence of Rule
        The rules that were asked: what is about others may leave something out another time.
    """
    codes = {each.code for each in asked if not each.snapshot or context.against is not None}
    for ignore in ignores.every():
        if ignore.codes is not None and not ignore.unknown and codes.isdisjoint(ignore.codes):
            continue
        for problem in rule.check(ignore, context):
            yield _diagnosis(rule, problem, ignore, context)


def _diagnosis(rule: Rule, problem: Problem, ignore: Ignore, context: Context) -> Diagnosis:
    if ignore.object is not None:
        return of_object(rule, problem, ignore.object)
    file = next((each for each in context.given.files if each.name == ignore.file), None)
    return of_file(rule, problem, file if file is not None else LintFile(ignore.file, b""))
