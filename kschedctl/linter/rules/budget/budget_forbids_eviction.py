"""A disruption budget allows no eviction while all pods are healthy, so no node with one of them can be drained.

The budget has maxUnavailable 0 or 0 %, minAvailable 100 %, or a minAvailable that equals the number of all pods. The
number is the sum over all workloads of the manifest set that the selector matches, with the maximum of their
autoscalers. Percentages are rounded up: 67 % of 3 is 3, and maxUnavailable 10 % of 3 is 1.

The API server accepts the object, and the next drain of a node hangs: in cluster upgrades, and when nodes are removed.

Repair: maxUnavailable: 1. If the pods must never be evicted, ignore the finding, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.controllers.disruption import always_forbids, forbids
from kschedctl.linter.budgets import counts, one_may_go, related_pods, threshold
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """policy/v1 PodDisruptionBudget db
minAvailable: 67%  # <-
---
apps/v1 StatefulSet db
replicas: 3
"""
PASSES = FAILS.replace("67%", "66%")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    limit = threshold(budget)
    if limit is None:
        return
    field, value = limit
    found, all_counted = counts(budget, context)
    n = sum(count.high for _, count in found)
    if always_forbids(field, value):
        message = f"{field} {value} allows no eviction"
    elif all_counted and n and forbids(field, value, n):
        percent = f"{value} of {n} rounds up to {n}" if isinstance(value, str) else f"{field} {value}"
        message = f"{percent}: 0 of {n} {'pod' if n == 1 else 'pods'} can be evicted"
    else:
        return
    yield Problem(
        message=f"{message}, so no node with one of the pods can be drained",
        steps=("spec", field),
        help="set maxUnavailable: 1",
        related=related_pods(found),
        fix=one_may_go(budget, field),
    )
