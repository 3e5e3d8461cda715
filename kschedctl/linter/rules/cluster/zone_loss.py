"""The replicas do not fit if one of the zones fails.

The rule runs only with --fail-zone, or if it is selected. It removes the nodes of each zone in turn, and places the
replicas on the remaining nodes.

The API server accepts the object, and pods stay pending while a zone is unavailable.

Repair: free capacity in the other zones.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.cluster.queries import failure_cause, trial_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import replicas_steps
from kschedctl.linter.rollout_fixes import scaler_of
from kschedctl.linter.rule import Problem
from kschedctl.objects.well_known import zone_of

FAILS = """apps/v1 Deployment web
replicas: 2  # <-
resources:
  requests:
    cpu: "2"
"""
PASSES = FAILS.replace('cpu: "2"', 'cpu: "1"')
OPTIONS = {"snapshot": snapshot(node("a", zone="a"), node("b", zone="b"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS511") if count is not None and count.low else None
    if count is None or trial is None or trial.placed(count.low).stopped is not None:
        return
    nodes = trial.base.nodes.objects
    zones = sorted({zone for each in nodes if (zone := zone_of(each.metadata.labels))})
    for zone in zones if len(zones) > 1 else ():
        away = frozenset(each.name for each in nodes if zone_of(each.metadata.labels) == zone)
        placed = trial.placed(count.low, without_nodes=away)
        if placed.stopped is not None:
            yield Problem(
                message=f"without zone {zone}, {placed.n} of {count.low} replicas fit: {failure_cause(placed.stopped)}",
                steps=replicas_steps(pods),
                help="provide free capacity in the other zones",
                related=scaler_of(count),
            )
