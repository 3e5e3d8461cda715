"""A disruption budget is about no pods that are given.

Then it protects nobody. Pods of operators and of other folders are not given, so this is asked only where the settings
say that everything is (``complete: true``), with a snapshot, or where it is selected.

The API server takes it, and pods are evicted as if there was no budget.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.budgets import SELECTOR
from kschedctl.linter.context import Context
from kschedctl.linter.labels import holds
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector:  # <-
  matchLabels: {app: wbe}
---
apps/v1 Deployment web
"""
PASSES = FAILS.replace("wbe", "web")


def check(budget: ManifestObject, context: Context) -> Iterator[Problem]:
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        return
    same = (pods for pods in context.pods if pods.namespace == budget.namespace)
    if any(holds(selector, pods.labels) is not False for pods in same):
        return
    if context.overlay is not None and context.overlay.budget_has_pods(selector, budget.namespace):
        return
    if context.may_be_elsewhere("KS304", budget):
        return
    yield Problem(
        message="the selector holds for no pod that is given", steps=SELECTOR, help="select labels of the template"
    )
