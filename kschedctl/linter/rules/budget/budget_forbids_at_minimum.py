"""A disruption budget allows no eviction while the autoscaler runs its minimum number of pods.

The condition is that of KS301, computed for the autoscaler's minimum: 80 % of 1 is 1. At times of low load, which is
when nodes are removed, no node with one of the pods can be drained.

The API server accepts the object, and drains hang at times of low load.

Repair: maxUnavailable: 1, or at least one more replica.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.controllers.disruption import always_forbids, forbids
from kschedctl.linter.budgets import counts, one_may_go, related_pods, threshold
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """policy/v1 PodDisruptionBudget web
minAvailable: 80%  # <-
---
apps/v1 Deployment web
---
autoscaling/v2 HorizontalPodAutoscaler web
minReplicas: 1
maxReplicas: 10
"""
PASSES = FAILS.replace("minAvailable: 80%", "maxUnavailable: 20%")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    limit = threshold(budget)
    if limit is None or always_forbids(*limit):
        return
    field, value = limit
    found, all_counted = counts(budget, context)
    low, high = sum(count.low for _, count in found), sum(count.high for _, count in found)
    if not all_counted or not low or not forbids(field, value, low) or forbids(field, value, high):
        return
    scalers = ", ".join(f"{count.scaler.kind} {count.scaler.name}" for _, count in found if count.scaler is not None)
    comes_to = f"{value} of {low} rounds up to {low}" if isinstance(value, str) else f"{field} {value}"
    yield Problem(
        message=f"{comes_to}: while {scalers} runs {low} of {high} pods, no eviction is allowed, so no node with one "
        "of the pods can be drained",
        steps=("spec", field),
        help="set maxUnavailable: 1, or run more replicas",
        related=related_pods(found),
        fix=one_may_go(budget, field),
    )
