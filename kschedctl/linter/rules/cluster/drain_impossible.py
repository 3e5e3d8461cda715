"""Nodes of the snapshot run pods that this budget never allows to be evicted.

The rule counts the budget's pods in the snapshot: the budget allows no eviction while all of them are healthy, so no
node with one of them can be drained.

The API server accepts the object, and the next drain of those nodes hangs.

Repair: maxUnavailable: 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import listed
from kschedctl.controllers.disruption import always_forbids, forbids
from kschedctl.linter.budgets import SELECTOR, one_may_go, threshold
from kschedctl.linter.cluster.queries import overlay_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, running, snapshot
from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """policy/v1 PodDisruptionBudget web
namespace: default
minAvailable: 1  # <-
"""
PASSES = FAILS.replace("minAvailable: 1", "maxUnavailable: 1")
OPTIONS = {"snapshot": snapshot(node("a"), running("web-1", "a", app="web"))}


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    limit = threshold(budget)
    if limit is None:
        return
    cluster = overlay_of(context).cluster
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
            message=f"{listed(nodes)} cannot be drained: 0 of {len(found)} pods of the budget can be evicted",
            steps=("spec", limit[0]),
            help="set maxUnavailable: 1",
            fix=one_may_go(budget, limit[0]),
        )
