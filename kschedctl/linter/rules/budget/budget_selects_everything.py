"""A disruption budget has an empty selector, which means every pod of its namespace, or none, which means no pod.

In policy/v1 ``{}`` takes in all pods of the namespace, those of Jobs and of nobody too, and beside any other budget it
makes pods unevictable (KS303). Without a selector the budget is about nothing.

The API server takes both.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.budgets import SELECTOR
from kschedctl.linter.context import Context
from kschedctl.linter.labels import selects_everything
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector: {}  # <-
"""
PASSES = FAILS.replace("selector: {}", "selector:\n  matchLabels: {app: web}")


def check(budget: ManifestObject, context: Context) -> Iterator[Problem]:
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        yield Problem(
            message="without a selector the budget is about no pod",
            steps=SELECTOR,
            help="select labels of the template",
        )
    elif selects_everything(selector):
        yield Problem(
            message="an empty selector takes in every pod of the namespace",
            steps=SELECTOR,
            help="select labels of the template",
        )
