"""A quota, LimitRange or runtime class of the snapshot refuses the pods, or the additional pod that a rollout needs.

A LimitRange limits amounts, and sets those that containers do not have: a request above its default limit is refused. A
runtime class sets overhead and node labels, and refuses pods with other ones. A quota refuses pods that do not request
what it counts. Its usage is that of its status, minus the usage of the workload's own pods, plus that of its new pods.

The API server accepts the workload and refuses pods (FailedCreate); a rollout hangs.

Repair: a larger quota, or requests within the limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Finding, Severity
from kschedctl.controllers.admission.resource_quota import quota_shares
from kschedctl.linter.api_server import validation_findings
from kschedctl.linter.cluster.queries import overlay_of, trial_of
from kschedctl.linter.cluster.trial import Trial
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.field_steps import steps_of
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import replicas_steps
from kschedctl.linter.rule import Problem, Stage
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.resources import RequestRules

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


#: The fields that admission compares with classes.
_OF_CLASSES: Final = ("priorityClassName", "runtimeClassName", "priority", "preemptionPolicy")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    stop = Stage.REFUSED if pods.type == "Pod" else None
    if refusals := list(_refusals(pods, context)):
        for each in refusals:
            message = f"the cluster refuses the pods: {each.problem}"
            yield Problem(message=message, steps=steps_of(pods.obj.raw, each.field), help=each.hint, stop=stop)
        return
    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS512") if count is not None else None
    if count is None or trial is None:
        return
    unspecified = next((each for each in trial.admitted.quota_refusals if not each.limited), None)
    if unspecified is not None:
        yield Problem(
            message=f"the cluster refuses the pods: {unspecified.message}",
            steps=pods.of_spec("containers"),
            help=f"request what quota {unspecified.quota} counts, in all containers",
            stop=stop,
        )
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


def _refusals(pods: WorkloadPods, context: LintContext) -> Iterator[Finding]:
    """Yield the reasons why admission in the cluster refuses the pods, apart from quotas and from what others report.

    KS906 and KS907 report what any cluster refuses, KS507 missing classes, and KS310 a priority.
    """
    trial = overlay_of(context).trial(pods)
    if trial is None or any(each.severity is Severity.ERROR for each in validation_findings(pods.obj, context)):
        return
    yield from (each for each in trial.refusals if each.field.rpartition(".")[2] not in _OF_CLASSES)


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
