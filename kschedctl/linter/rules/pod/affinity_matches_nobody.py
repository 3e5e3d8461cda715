"""A required pod affinity term holds for none of the pods that are given, nor for the pods' own labels.

The pods wait until a pod runs that the term holds for. The pods of operators and of other folders are not given, so
this is not asked unless it is selected, or the settings say that everything is given (``complete: true``).

The API server takes it, and the pods wait.

Repair: select labels of the pods that are meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.pods import Pods
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


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    for part in pods.terms("podAffinity", required=True):
        if context.matches_nobody(part, pods, "KS116"):
            yield Problem(
                message="this term holds for no pod that is given",
                steps=(*part.steps, "labelSelector"),
                help="select labels of the pods that are meant",
            )
