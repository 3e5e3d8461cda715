"""Several replicas, and neither anti-affinity nor a spread constraint that keeps them apart.

The scheduler spreads pods of a workload by itself, softly, over nodes and zones, so mostly nothing comes of it; that is
why this is not asked unless it is selected.

Nothing hangs; a node or zone that is lost may take all replicas with it.

Repair: a topology spread constraint on kubernetes.io/hostname or topology.kubernetes.io/zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.labels import holds
from kschedctl.lint.pods import Pods, holds_for
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2  # <-
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
"""
PASSES = FAILS.replace(
    "      containers:",
    """      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels: {app: web}
      containers:""",
)


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Workloads of several pods that nothing keeps apart."""
    count = context.replicas(pods) if pods.type not in ("batch/Job", "batch/CronJob") else None
    if count is None or count.low < 2:
        return
    terms = [part for required in (True, False) for part in pods.terms("podAntiAffinity", required=required)]
    if any(holds_for(part, pods, pods) is not False for part in terms):
        return
    if any(holds(part.raw.get("labelSelector"), pods.labels) is not False for part in pods.spread):
        return
    yield Problem(
        message=f"{count.shown} replicas, and nothing keeps them apart",
        steps=("spec", "replicas"),
        help="add a topology spread constraint",
    )
