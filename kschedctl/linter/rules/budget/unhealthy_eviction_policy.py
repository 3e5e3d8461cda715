"""A disruption budget does not set the eviction policy for pods that run and are not ready.

By default (IfHealthyBudget) a pod that is not ready can be evicted only while the budget's healthy pods suffice, so a
workload that never becomes ready blocks every drain. AlwaysAllow permits these evictions. Most budgets do not set the
policy, so the rule runs only if it is selected.

The API server accepts the object, and a drain hangs if pods are not ready.

Repair: unhealthyPodEvictionPolicy: AlwaysAllow.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """policy/v1 PodDisruptionBudget web
spec:  # <-
maxUnavailable: 1
"""
PASSES = FAILS.replace("maxUnavailable: 1", "maxUnavailable: 1\nunhealthyPodEvictionPolicy: AlwaysAllow")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    steps = ("spec", "unhealthyPodEvictionPolicy")
    if at(budget.raw, *steps) is None:
        yield Problem(
            message="pods that are not ready can be evicted only while the budget has enough healthy pods",
            steps=steps,
            help="set unhealthyPodEvictionPolicy: AlwaysAllow",
            fix=setting(budget, "set unhealthyPodEvictionPolicy: AlwaysAllow", (steps, "AlwaysAllow")),
        )
