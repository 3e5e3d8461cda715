"""Two disruption budgets of a namespace select the same pods, so none of these pods can be evicted.

The eviction API answers with status 500, "This pod has more than one PodDisruptionBudget", whatever the budgets allow.

The API server accepts both, and the next drain hangs.

Repair: one budget per pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.budgets import PDB, SELECTOR, selected
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem, Related

FAILS = """policy/v1 PodDisruptionBudget shop
maxUnavailable: 1
selector:
  matchLabels: {part-of: shop}
---
policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector:  # <-
  matchLabels: {app: web}
---
apps/v1 Deployment web
labels: {app: web, part-of: shop}
"""
PASSES = FAILS.replace("{part-of: shop}", "{app: shop}")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    own = {pods.obj: pods for pods in selected(budget, context)}
    for other in context.manifests.beside(budget, PDB):
        if other is budget or other.key == budget.key or _order(other) > _order(budget):
            continue
        both = [pods for pods in selected(other, context) if pods.obj in own]
        if both:
            names = ", ".join(f"{pods.obj.kind} {pods.obj.name}" for pods in both)
            yield Problem(
                message=f"PodDisruptionBudget {other.name} also selects the pods of {names}: pods with two budgets "
                "cannot be evicted",
                steps=SELECTOR,
                help="keep one budget per pod",
                related=(Related(other, SELECTOR, "the other budget"), Related(both[0].obj, (), "the pods")),
            )


def _order(budget: LintObject) -> tuple[str, int, str]:
    return budget.file.name, budget.document.number, budget.name
