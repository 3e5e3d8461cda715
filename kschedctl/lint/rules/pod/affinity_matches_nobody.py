"""A required pod affinity term holds for none of the pods that are given, nor for the pods' own labels.

The pods wait until a pod runs that the term holds for. The pods of operators and of other folders are not given, so
this is not asked unless it is selected, or the settings say that everything is given (``complete: true``).

The API server takes it, and the pods wait.

Repair: select labels of the pods that are meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods, holds_for
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:  # <-
          matchLabels: {app: cache}
  containers:
  - name: web
    image: nginx
"""
PASSES = (
    FAILS
    + """---
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
)


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Required affinity terms that hold for nobody."""
    for part in pods.terms("podAffinity", required=True):
        if part.value is None or any(holds_for(part, pods, other) is not False for other in (pods, *context.pods)):
            continue
        if context.against is not None and context.against.has_pods_of(part, pods):
            continue
        if context.may_be_elsewhere("KS116", pods.obj):
            continue
        yield Problem(
            message="this term holds for no pod that is given",
            steps=(*part.steps, "labelSelector"),
            help="select labels of the pods that are meant",
        )
