"""Nodes of the snapshot hold pods that this budget never lets go.

The budget's pods are counted in the snapshot: it allows no eviction while all of them are healthy, so no node with one
of them can be drained.

The next drain of those nodes hangs.

Repair: maxUnavailable: 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.api.wording import listed
from kschedctl.lint.budgets import SELECTOR, always_forbids, forbids, one_may_go, threshold
from kschedctl.lint.cluster.asking import laid_over
from kschedctl.lint.context import Context
from kschedctl.lint.examples import node, running, snapshot
from kschedctl.lint.given import GivenObject
from kschedctl.lint.labels import PodLabels, holds
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import at

FAILS = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
  namespace: default
spec:
  minAvailable: 1  # <-
  selector:
    matchLabels: {app: web}
"""
PASSES = FAILS.replace("minAvailable: 1", "maxUnavailable: 1")
OPTIONS = {"snapshot": snapshot(node("a"), running("web-1", "a", app="web"))}


def check(budget: GivenObject, context: Context) -> Iterator[Problem]:
    """Budgets that hold nodes."""
    limit = threshold(budget)
    if limit is None:
        return
    cluster = laid_over(context).cluster
    namespace = budget.namespace or "default"
    selector = at(budget.raw, *SELECTOR)
    found = [
        record
        for record in cluster.pods.records
        if record.metadata.namespace == namespace and holds(selector, PodLabels(record.metadata.labels))
    ]
    nodes = sorted({record.node_name for record in found if record.node_name})
    if nodes and (always_forbids(*limit) or forbids(*limit, len(found))):
        yield Problem(
            message=f"{listed(nodes)} cannot be drained: of {len(found)} pods of the budget none may be evicted",
            steps=("spec", limit[0]),
            help="set maxUnavailable: 1",
            fix=one_may_go(budget, limit[0]),
        )
