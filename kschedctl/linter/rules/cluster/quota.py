"""A ResourceQuota or LimitRange of the snapshot refuses the pods, or the additional pod that a rollout needs.

The usage is that of the quota's status, minus the usage of the workload's own pods, plus the usage of its new pods.

The API server accepts the workload and refuses pods (FailedCreate); a rollout hangs.

Repair: a larger quota, or requests within the limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.admission.quota_shares import quota_shares
from kschedctl.api.quantity import QuantityError
from kschedctl.api.resources import RequestRules
from kschedctl.findings.finding import Severity
from kschedctl.linter.cluster.queries import overlay_of, trial_of
from kschedctl.linter.cluster.trial import Trial
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import replicas_steps
from kschedctl.linter.rule import Problem, Stage

FAILS = """apps/v1 Deployment web
namespace: shop
replicas: 3  # <-
resources:
  requests:
    cpu: 100m
"""
PASSES = FAILS.replace("replicas: 3", "replicas: 1")
OPTIONS = {
    "snapshot": snapshot(
        node("a"),
        """apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: shop}
spec: {hard: {pods: "2"}}
status: {hard: {pods: "2"}, used: {pods: "0"}}
""",
    )
}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    trial = overlay_of(context).trial(pods)
    if trial is not None and trial.refusal is not None and "usage per" in trial.refusal.problem:
        yield Problem(
            message=f"a LimitRange refuses the pods: {trial.refusal.problem}",
            steps=pods.of_spec("containers"),
            help="request within the limits",
        )
        return
    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS512") if count is not None else None
    if count is None or trial is None:
        return
    low = count.low
    if (why := _beyond(trial, low)) is not None:
        yield Problem(message=f"{low} pods: {why}", steps=replicas_steps(pods), help="raise the quota, or request less")
    elif context.new_pods_first(pods) is not None and (why := _beyond(trial, low + 1)) is not None:
        yield Problem(
            message=f"all {low} pods are admitted, but not the additional pod that a rollout needs: {why}",
            steps=replicas_steps(pods),
            help="raise the quota by one pod, or set maxSurge 0 and maxUnavailable 1",
            severity=Severity.WARNING,
            stop=Stage.HANGS,
        )


def _beyond(trial: Trial, n: int) -> str | None:
    """Return the reason why `n` pods exceed a quota; ``None`` if they do not."""
    rules = RequestRules.of(trial.base.release_choice.release)
    try:
        for share in quota_shares(trial.pod, trial.base.cluster, rules):
            if share.exceeded_by(n, stored=len(trial.own)):
                used = share.quota.status.used.get(share.resource)
                return f"quota {share.quota.name} allows {share.hard} of {share.resource}, used {used}"
    except QuantityError:
        return None
    return None
