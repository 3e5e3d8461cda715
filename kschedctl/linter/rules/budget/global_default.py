"""A priority class is the default for all pods that name no class, in every namespace.

New pods have the class's priority, and existing pods keep theirs until they are replaced: pods of one Deployment can
have two priorities, and those with the higher one preempt others. If two classes are global defaults, the one with the
lower value applies.

Nothing is blocked by the class itself; a priority that was intended for a few pods applies to all.

Repair: name the class in the pods that need it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """scheduling.k8s.io/v1 PriorityClass shop
value: 1000
globalDefault: true  # <-
"""
PASSES = FAILS.replace("globalDefault: true", "globalDefault: false")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    if obj.raw.get("globalDefault") is True:
        yield Problem(
            message=f"every new pod without a class gets priority {obj.raw.get('value')}, in all namespaces",
            steps=("globalDefault",),
            help="name the class in the pods that need it",
        )
