"""A workload has several replicas, and no disruption budget selects its pods.

A drain evicts all pods of its nodes at once, so drains of several nodes can end all replicas together; a budget makes
each drain wait (https://kubernetes.io/docs/tasks/run-application/configure-pdb/). Many workloads need no budget, and
budgets may be in other files. Therefore the rule runs only if it is selected.

Nothing is blocked; the pods have no protection against drains.

Repair: a PodDisruptionBudget with maxUnavailable: 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.budgets import PDB, SELECTOR
from kschedctl.linter.context import LintContext
from kschedctl.linter.labels import holds
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import SCALED, replicas_steps
from kschedctl.linter.rollout_fixes import scaler_of
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """apps/v1 Deployment web
replicas: 3  # <-
"""
PASSES = f"""{FAILS}---
policy/v1 PodDisruptionBudget web
maxUnavailable: 1
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods) if pods.type in SCALED else None
    if count is None or count.low < 2:
        return
    budgets = (budget for budget in context.manifests.by_type.get(PDB, ()) if budget.namespace == pods.namespace)
    if any(holds(at(budget.raw, *SELECTOR), pods.labels) is not False for budget in budgets):
        return
    if context.may_be_elsewhere("KS314", pods.obj):
        return
    yield Problem(
        message=f"{count.shown} replicas, and no disruption budget selects them",
        steps=replicas_steps(pods),
        help="add a PodDisruptionBudget with maxUnavailable: 1",
        related=scaler_of(count),
    )
