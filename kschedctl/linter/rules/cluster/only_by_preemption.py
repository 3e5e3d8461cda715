"""The pods fit only if other pods are evicted for them.

The victims are those that kube-scheduler's preemption selects for the first pod. The finding is an error if the
evictions violate a disruption budget.

The API server accepts the object, and the victims are evicted as soon as the object is applied.

Repair: free capacity for the pods, or a lower priority if no pod should be evicted for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted, listed
from kschedctl.linter.cluster.queries import trial_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, running, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
priorityClassName: system-cluster-critical  # <-
resources:
  requests:
    cpu: "2"
"""
PASSES = FAILS.replace('cpu: "2"', 'cpu: "1"')
OPTIONS = {"snapshot": snapshot(node("a"), running("busy", "a"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    trial = trial_of(pods, context, "KS503")
    if trial is None or trial.decision.schedulable or not trial.decision.victims:
        return
    where, victims = next(iter(trial.decision.victims.items()))
    preemption = trial.decision.preemption
    candidates = preemption.candidates if preemption is not None else ()
    violated = next((each.n_violations for each in candidates if each.node == where), 0)
    broken = f"; {counted(violated, 'eviction')} would violate a disruption budget" if violated else ""
    field = "priorityClassName" if pods.spec.get("priorityClassName") else None
    yield Problem(
        message=f"fits only by preemption: {listed(list(victims))} would be evicted from {where}{broken}",
        steps=pods.of_spec(field) if field else pods.of_spec(),
        help="free capacity for it, or lower its priority",
        severity=Severity.ERROR if violated else None,
    )
