"""A disruption budget has an empty selector, which selects every pod of its namespace, or none, which selects no pod.

In policy/v1 ``{}`` selects all pods of the namespace, including those of Jobs and those without a controller. Together
with any other budget it makes pods impossible to evict (KS303). Without a selector the budget selects nothing.

The API server accepts both, and nothing is blocked by the budget itself.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.budgets import SELECTOR
from kschedctl.linter.context import LintContext
from kschedctl.linter.labels import selects_everything
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector: {}  # <-
"""
PASSES = FAILS.replace("selector: {}", "selector:\n  matchLabels: {app: web}")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        yield Problem(
            message="the budget has no selector: it selects no pod",
            steps=SELECTOR,
            help="select labels of the template",
        )
    elif selects_everything(selector):
        yield Problem(
            message="an empty selector selects every pod of the namespace",
            steps=SELECTOR,
            help="select labels of the template",
        )
