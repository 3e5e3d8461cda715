"""A disruption budget allows no eviction while the autoscaler keeps its fewest pods.

As KS301, counted with the fewest pods that the autoscaler makes: 80 % of 1 is 1. While there is little to do, which is
when nodes are taken away, no node with one of the pods can be drained.

The API server takes it, and drains hang at quiet times.

Repair: maxUnavailable: 1, or one replica more at least.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.budgets import always_forbids, counts, forbids, one_may_go, related_pods, threshold
from kschedctl.lint.context import Context
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
spec:
  minAvailable: 80%  # <-
  selector:
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
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 10
"""
PASSES = FAILS.replace("minAvailable: 80%", "maxUnavailable: 20%")


def check(budget: GivenObject, context: Context) -> Iterator[Problem]:
    """Budgets that come to the fewest pods there are, and not to the most."""
    limit = threshold(budget)
    if limit is None or always_forbids(*limit):
        return
    field, value = limit
    found, all_counted = counts(budget, context)
    low, high = sum(count.low for _, count in found), sum(count.high for _, count in found)
    if not all_counted or not low or not forbids(field, value, low) or forbids(field, value, high):
        return
    scalers = ", ".join(f"{count.scaler.kind} {count.scaler.name}" for _, count in found if count.scaler is not None)
    comes_to = f"{value} of {low} comes to {low}" if isinstance(value, str) else f"{field} {value}"
    yield Problem(
        message=f"{comes_to}: while {scalers} keeps {low} of {high} pods, none may be evicted, so no node with one of "
        "them can be drained",
        steps=("spec", field),
        help="set maxUnavailable: 1, or keep more replicas",
        related=related_pods(found),
        fix=one_may_go(budget, field),
    )
