"""A pod anti-affinity term holds neither for the pods' own labels nor for any others that are given: it repels nobody.

Mostly a label is selected that the template does not carry, and the replicas share a node after all. Where the term is
required and no other term or constraint takes its place, that is a warning, else info. Asked only where two workloads
or more are given, for the term may be about pods that are not.

The API server takes it, and nothing is kept apart.

Repair: select labels of the template, or of the pods that are meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.findings.finding import Severity
from kschedctl.lint.context import Context
from kschedctl.lint.labels import holds
from kschedctl.lint.pods import Pods, holds_for
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
spec:
  serviceName: db
  selector:
    matchLabels: {app: db}
  template:
    metadata:
      labels: {app: db}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector:  # <-
              matchLabels: {part-of: shop}
      containers:
      - name: db
        image: postgres
---
apiVersion: v1
kind: Pod
metadata:
  name: cache
  labels: {app: cache}
spec:
  containers:
  - name: cache
    image: redis
"""
PASSES = FAILS.replace("{part-of: shop}", "{app: db}")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Anti-affinity terms that hold for nobody."""
    if len(context.pods) < 2:
        return
    for required in (True, False):
        for part in pods.terms("podAntiAffinity", required=required):
            if part.value is None or any(holds_for(part, pods, other) is not False for other in (pods, *context.pods)):
                continue
            if context.against is not None and context.against.has_pods_of(part, pods):
                continue
            if context.may_be_elsewhere("KS117", pods.obj):
                continue
            alone = required and not _kept_apart_otherwise(pods)
            missing = "" if part.raw.get("labelSelector") is not None else "; it has no labelSelector"
            yield Problem(
                message=f"this term holds neither for the pods themselves nor for any others that are given{missing}",
                steps=(*part.steps, "labelSelector"),
                help="select labels of the template, or of the pods that are meant",
                severity=Severity.WARNING if alone else None,
            )


def _kept_apart_otherwise(pods: Pods) -> bool:
    """Whether another term or constraint holds for the pods themselves."""
    terms = [part for required in (True, False) for part in pods.terms("podAntiAffinity", required=required)]
    if any(holds_for(part, pods, pods) is not False for part in terms):
        return True
    return any(holds(part.raw.get("labelSelector"), pods.labels) is not False for part in pods.spread)
