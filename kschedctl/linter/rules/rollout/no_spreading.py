"""A workload has several replicas, and neither anti-affinity nor a topology spread constraint separates them.

The scheduler by default spreads the pods of a workload over nodes and zones as a preference, which is usually enough;
therefore the rule runs only if it is selected.

Nothing is blocked; the loss of a node or zone can affect all replicas.

Repair: a topology spread constraint on kubernetes.io/hostname or topology.kubernetes.io/zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import is_kept_apart
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 2  # <-
"""
PASSES = f"""{FAILS}topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{app: web}}
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods) if pods.type not in ("batch/Job", "batch/CronJob") else None
    if count is None or count.low < 2 or is_kept_apart(pods):
        return
    yield Problem(
        message=f"{count.shown} replicas, and no anti-affinity or spread constraint separates them",
        steps=("spec", "replicas"),
        help="add a topology spread constraint",
    )
