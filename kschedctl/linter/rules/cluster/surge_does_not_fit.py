"""The replicas of a Deployment fit on the nodes of the snapshot, and the first pod of a rollout does not.

A rolling update whose maxUnavailable is rounded to 0 starts a new pod before an old one ends. The replicas are placed
one after another, unless they run already, and then a pod of another revision is placed. If one fits, the rollout makes
progress, however many more pods maxSurge allows.

The API server accepts the object, the pods run, and the next rollout hangs until there is free capacity.

Repair: maxSurge 0 and maxUnavailable 1, or free capacity for one more pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.cluster.queries import failure_cause, trial_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import replicas_steps
from kschedctl.linter.rollout_fixes import one_down_first, scaler_of
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 2  # <-
resources:
  requests:
    cpu: "2"
"""
PASSES = FAILS.replace("replicas: 2", "strategy:\n  rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\nreplicas: 2")
OPTIONS = {"snapshot": snapshot(node("a"), node("b"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.new_pods_first(pods)
    trial = trial_of(pods, context, "KS505") if count is not None and pods.type == "apps/Deployment" else None
    if count is None or trial is None or not trial.decision.schedulable:
        return
    decision = trial.surge(count.low)
    if decision is None or decision.schedulable:
        return
    yield Problem(
        message=f"all {count.low} replicas fit, but not the additional pod that a rollout starts first: "
        f"{failure_cause(decision)}",
        steps=replicas_steps(pods),
        help="set maxSurge 0 and maxUnavailable 1, or free capacity for one more pod",
        related=scaler_of(count),
        fix=one_down_first(pods),
    )
