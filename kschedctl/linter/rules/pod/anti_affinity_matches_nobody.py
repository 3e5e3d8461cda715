"""A pod anti-affinity term matches neither the pods themselves nor any other pod of the manifest set.

Usually the term selects a label that the template does not have, and the replicas share a node after all. The finding
is a warning if the term is required and no other term or spread constraint spreads the pods, else info. The rule runs
only if the manifest set has at least two workloads, as the term may be about pods that are not in it.

The API server accepts the object, and the term separates no pods.

Repair: select labels of the template, or of the intended pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import is_kept_apart
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 StatefulSet db
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:  # <-
        matchLabels: {part-of: shop}
---
v1 Pod cache
labels: {app: cache}
"""
PASSES = FAILS.replace("{part-of: shop}", "{app: db}")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if len(context.workloads) < 2:
        return
    for required in (True, False):
        for part in pods.terms("podAntiAffinity", required=required):
            if not context.matches_nobody(part, pods, "KS117"):
                continue
            alone = required and not is_kept_apart(pods)
            missing = "" if part.raw.get("labelSelector") is not None else "; it has no labelSelector"
            yield Problem(
                message=f"this term matches neither the pods themselves nor any other pod of the manifest set{missing}",
                steps=(*part.steps, "labelSelector"),
                help="select labels of the template, or of the intended pods",
                severity=Severity.WARNING if alone else None,
            )
