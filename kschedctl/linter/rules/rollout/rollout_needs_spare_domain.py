"""Each rollout needs a free domain more than there are pods, as the pods repel their own and new ones start first.

A required anti-affinity term that holds for the pods' own labels lets one of them into each domain. A rolling update
whose maxUnavailable comes to zero, which 25 % of less than four pods does, starts a new pod before an old one goes. So
n pods need n + 1 domains for as long as the rollout lasts, and where there are n it never ends. An error where node
selector or affinity leave no more domains than pods; info for a single replica, which mostly finds another node, and
where the domains that are left are enough.

The API server takes it, the pods run, and the next rollout hangs.

Repair: maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [pod-template-hash] in the term, so that pods of two
revisions do not repel one another.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.findings.finding import Severity
from kschedctl.linter.context import Context
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import Pods
from kschedctl.linter.relations import self_terms
from kschedctl.linter.rollout_fixes import one_down_first, scaler_of
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 3
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname  # <-
      labelSelector:
        matchLabels: {app: web}
"""
PASSES = FAILS.replace("replicas: 3\n", "replicas: 3\nstrategy:\n  rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\n")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    count = context.new_pods_first(pods)
    if count is None:
        return
    needed = count.low + 1
    for steps, key in self_terms(pods):
        left = pinned(pods, key)
        there = "" if left is None else f"; the pods may go to {len(left)}"
        severity = Severity.INFO if left is not None or count.low == 1 else Severity.WARNING
        if left is not None and len(left) < needed:
            severity = Severity.ERROR
        yield Problem(
            message=f"each rollout needs {needed} free {key} domains for {count.shown} "
            f"{'replica' if count.low == count.high == 1 else 'replicas'}: a new pod starts before an old one goes "
            f"(maxUnavailable comes to 0 of {count.low}){there}",
            steps=steps,
            help="set maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [pod-template-hash] in this term",
            severity=severity,
            related=scaler_of(count),
            fix=one_down_first(pods),
        )
