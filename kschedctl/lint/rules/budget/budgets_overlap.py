"""Two disruption budgets of a namespace are about the same pods, so none of these can be evicted.

The eviction API answers with status 500, "This pod has more than one PodDisruptionBudget", whatever the budgets allow.

The API server takes both, and the next drain hangs.

Repair: one budget for each pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.budgets import PDB, SELECTOR, selected
from kschedctl.lint.context import Context
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem, Related

FAILS = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: shop
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {part-of: shop}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
spec:
  maxUnavailable: 1
  selector:  # <-
    matchLabels: {app: web}
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
      labels: {app: web, part-of: shop}
    spec:
      containers:
      - name: web
        image: nginx
"""
PASSES = FAILS.replace("{part-of: shop}", "{app: shop}")


def check(budget: GivenObject, context: Context) -> Iterator[Problem]:
    """Budgets that hold for what another one before them holds for."""
    own = {pods.obj: pods for pods in selected(budget, context)}
    for other in context.given.beside(budget, PDB):
        if other is budget or other.key == budget.key or _order(other) > _order(budget):
            continue
        both = [pods for pods in selected(other, context) if pods.obj in own]
        if both:
            names = ", ".join(f"{pods.obj.kind} {pods.obj.name}" for pods in both)
            yield Problem(
                message=f"PodDisruptionBudget {other.name} is about the pods of {names} too: pods with two budgets "
                "cannot be evicted",
                steps=SELECTOR,
                help="leave one budget for each pod",
                related=(Related(other, SELECTOR, "the other budget"), Related(both[0].obj, (), "the pods")),
            )


def _order(budget: GivenObject) -> tuple[str, int, str]:
    return budget.file.name, budget.document.number, budget.name
