"""The pods fit on no node in the snapshot's state; on an empty node they would fit.

The rule first checks preemption: if pods can be evicted for them, KS503 reports that instead.

The API server accepts the object, and the pods stay pending until other pods end.

Repair: free capacity for them, or smaller requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.cluster.queries import failure_cause, trial_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, running, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.rules.cluster.fits_no_empty_node import fits_an_empty_node

FAILS = """v1 Pod web
spec:  # <-
resources:
  requests:
    cpu: "2"
"""
PASSES = FAILS.replace('cpu: "2"', 'cpu: "1"')
OPTIONS = {"snapshot": snapshot(node("a"), running("busy", "a"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    trial = trial_of(pods, context, "KS502")
    if trial is None or trial.decision.schedulable or trial.decision.victims or not fits_an_empty_node(trial):
        return
    yield Problem(
        message=f"fits on no node at present: {failure_cause(trial.decision)}",
        steps=pods.of_spec(),
        help="free capacity for it",
    )
