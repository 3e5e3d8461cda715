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
from kschedctl.lint.context import Context
from kschedctl.lint.node_terms import pinned
from kschedctl.lint.pods import Pods
from kschedctl.lint.relations import self_terms
from kschedctl.lint.replicas import rollout
from kschedctl.lint.rollout_fixes import one_down_first, scaler_of
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname  # <-
            labelSelector:
              matchLabels: {app: web}
      containers:
      - name: web
        image: nginx
"""
PASSES = FAILS.replace(
    "  replicas: 3\n", "  replicas: 3\n  strategy:\n    rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\n"
)


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Workloads that start new pods first, and whose pods repel one another."""
    count = context.new_pods_first(pods)
    if count is None:
        return
    needed = count.low + 1
    for part in self_terms(pods):
        if part.value is None:
            continue
        key = part.value.topology_key
        left = pinned(pods, key)
        if left is not None and len(left) < needed:
            severity, there = Severity.ERROR, f"; the pods may go to {len(left)}"
        elif left is not None:
            severity, there = Severity.INFO, f"; the pods may go to {len(left)}"
        else:
            severity, there = (Severity.INFO if count.low == 1 else Severity.WARNING), ""
        how = rollout(pods, count.low)
        assert how is not None
        yield Problem(
            message=f"each rollout needs {needed} free {key} domains for {count.shown} "
            f"{'replica' if count.low == count.high == 1 else 'replicas'}: a new pod starts before an old one goes "
            f"(maxUnavailable comes to 0 of {count.low}){there}",
            steps=part.steps,
            help="set maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [pod-template-hash] in this term",
            severity=severity,
            related=scaler_of(count),
            fix=one_down_first(pods),
        )
