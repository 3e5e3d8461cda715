"""A disruption budget does not say what becomes of pods that run and are not ready.

By default (IfHealthyBudget) a pod that is not ready can be evicted only while the budget is kept, so that a workload
that never gets ready blocks every drain. AlwaysAllow lets it go. Most budgets leave it out, so this is not asked unless
it is selected.

The API server takes it, and a drain hangs where pods are broken.

Repair: unhealthyPodEvictionPolicy: AlwaysAllow.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.fix import setting
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import at

FAILS = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
spec:  # <-
  maxUnavailable: 1
  selector:
    matchLabels: {app: web}
"""
PASSES = FAILS.replace("maxUnavailable: 1", "maxUnavailable: 1\n  unhealthyPodEvictionPolicy: AlwaysAllow")


def check(budget: GivenObject, context: Context) -> Iterator[Problem]:
    """Budgets that do not say so."""
    steps = ("spec", "unhealthyPodEvictionPolicy")
    if at(budget.raw, *steps) is None:
        yield Problem(
            message="pods that are not ready can be evicted only while the budget is kept",
            steps=steps,
            help="set unhealthyPodEvictionPolicy: AlwaysAllow",
            fix=setting(budget, "set unhealthyPodEvictionPolicy: AlwaysAllow", (steps, "AlwaysAllow")),
        )
