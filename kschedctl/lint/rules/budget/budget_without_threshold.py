"""A disruption budget has neither minAvailable nor maxUnavailable, so it allows no eviction at all.

The disruption controller then expects no pods and writes disruptionsAllowed 0, which is what evictions go by.

The API server takes it, and the next drain hangs.

Repair: maxUnavailable: 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.fix import setting
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import mapping

FAILS = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
spec:  # <-
  selector:
    matchLabels: {app: web}
"""
PASSES = FAILS.replace("spec:  # <-", "spec:\n  maxUnavailable: 1")


def check(budget: GivenObject, context: Context) -> Iterator[Problem]:
    """Budgets without a limit."""
    spec = mapping(budget.raw.get("spec"))
    if spec.get("minAvailable") is None and spec.get("maxUnavailable") is None:
        yield Problem(
            message="neither minAvailable nor maxUnavailable: the budget allows no eviction",
            steps=("spec",),
            help="set maxUnavailable: 1",
            fix=setting(budget, "set maxUnavailable: 1", (("spec", "maxUnavailable"), 1)),
        )
