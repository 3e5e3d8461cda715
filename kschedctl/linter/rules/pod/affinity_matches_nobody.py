"""A required pod affinity term matches no pod of the manifest set, and not the pods themselves.

The pods stay pending until a pod runs that the term matches. Pods that operators create, or whose manifests are in
other folders, are not in the manifest set. Therefore the rule runs only if it is selected, if the settings declare the
manifest set complete (``complete: true``), or with a snapshot.

The API server accepts the object, and the pods stay pending.

Repair: select labels of the intended pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
labels: {app: web}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:  # <-
        matchLabels: {app: cache}
"""
PASSES = f"""{FAILS}---
v1 Pod cache
labels: {{app: cache}}
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for part in pods.terms("podAffinity", required=True):
        if context.matches_nobody(part, pods, "KS116"):
            yield Problem(
                message="this term matches no pod of the manifest set",
                steps=(*part.steps, "labelSelector"),
                help="select labels of the intended pods",
            )
