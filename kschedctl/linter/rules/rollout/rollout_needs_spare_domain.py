"""A rollout needs one more domain than there are pods, as the pods repel one another and new pods start first.

A required anti-affinity term that matches the pods themselves allows one of them per domain. A rolling update whose
maxUnavailable is rounded to 0, as the default of 25 % is for fewer than four pods, starts a new pod before an old one
ends. So n pods need n + 1 domains during the rollout, and with n domains the rollout never ends. The finding is an
error if node selector or affinity allow at most as many domains as there are pods. It is info if they allow more, and
for a single replica, which usually finds another node. A term whose topology key no node of the snapshot has separates
no pods, and is no finding.

The API server accepts the object, the pods run, and the next rollout hangs.

Repair: maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [pod-template-hash] in the term, so that pods of two
revisions do not repel one another.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods
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


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.new_pods_first(pods)
    if count is None:
        return
    needed = count.low + 1
    for steps, key in self_terms(pods):
        left = pinned(pods, key)
        if left is None and context.has_no_domain(key):
            continue
        there = "" if left is None else f"; the pods can be scheduled to {len(left)}"
        severity = Severity.INFO if left is not None or count.low == 1 else Severity.WARNING
        if left is not None and len(left) < needed:
            severity = Severity.ERROR
        yield Problem(
            message=f"each rollout needs {needed} free {key} domains for {count.shown} "
            f"{'replica' if count.low == count.high == 1 else 'replicas'}: a new pod starts before an old one ends "
            f"(maxUnavailable is 0 of {count.low}){there}",
            steps=steps,
            help="set maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [pod-template-hash] in this term",
            severity=severity,
            related=scaler_of(count),
            fix=one_down_first(pods),
        )
