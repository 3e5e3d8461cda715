"""A disruption budget is about no pods that are given.

Then it protects nobody. Pods of operators and of other folders are not given, so this is asked only where the settings
say that everything is (``complete: true``), with a snapshot, or where it is selected.

The API server takes it, and pods are evicted as if there was no budget.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.budgets import SELECTOR
from kschedctl.lint.context import Context
from kschedctl.lint.given import GivenObject
from kschedctl.lint.labels import holds
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import at

FAILS = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
spec:
  maxUnavailable: 1
  selector:  # <-
    matchLabels: {app: wbe}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
"""
PASSES = FAILS.replace("wbe", "web")


def check(budget: GivenObject, context: Context) -> Iterator[Problem]:
    """Budgets that hold for no template."""
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        return
    same = (pods for pods in context.pods if pods.namespace == budget.namespace)
    if any(holds(selector, pods.labels) is not False for pods in same):
        return
    if context.against is not None and context.against.budget_has_pods(selector, budget.namespace):
        return
    if context.may_be_elsewhere("KS304", budget):
        return
    yield Problem(
        message="the selector holds for no pod that is given", steps=SELECTOR, help="select labels of the template"
    )
