"""A disruption budget selects no pod of the manifest set.

The budget then protects no pods. Pods that operators create, or whose manifests are in other folders, are not in the
manifest set. Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with
a snapshot, or if it is selected.

The API server accepts the object, and pods are evicted as if there were no budget.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.budgets import SELECTOR
from kschedctl.linter.context import LintContext
from kschedctl.linter.labels import holds
from kschedctl.linter.manifest_set import LintObject
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


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        return
    same = (pods for pods in context.pods if pods.namespace == budget.namespace)
    if any(holds(selector, pods.labels) is not False for pods in same):
        return
    if context.overlay is not None and context.overlay.matches_pods(selector, budget.namespace):
        return
    if context.may_be_elsewhere("KS304", budget):
        return
    yield Problem(
        message="the selector matches no pod of the manifest set", steps=SELECTOR, help="select labels of the template"
    )
