"""Some of the replicas fit on the nodes of the snapshot, and the others do not.

The replicas are placed one after another, each beside those before it; at most 200 are tried. The finding is info if
the autoscaler's minimum fits and its maximum does not.

The API server accepts the object, and the pods beyond those that fit stay pending.

Repair: fewer or smaller replicas, or more nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.cluster.queries import failure_cause, trial_of
from kschedctl.linter.cluster.trial import MOST
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import replicas_steps
from kschedctl.linter.rollout_fixes import scaler_of
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 3  # <-
resources:
  requests:
    cpu: "2"
"""
PASSES = FAILS.replace("replicas: 3", "replicas: 2")
OPTIONS = {"snapshot": snapshot(node("a"), node("b"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    trial = trial_of(pods, context, "KS504")
    if trial is None or not trial.decision.schedulable:
        return
    placed = trial.placed(count.high)
    if placed.stopped is None:
        return
    low = placed.n < count.low
    wanted = count.low if low else count.high
    most = f" ({MOST} tried)" if wanted > MOST else ""
    yield Problem(
        message=f"{placed.n} of {wanted} replicas fit{most}; the next one: {failure_cause(placed.stopped)}",
        steps=replicas_steps(pods),
        help="use fewer or smaller replicas, or more nodes",
        severity=None if low else Severity.INFO,
        related=scaler_of(count),
    )
