"""An annotation that is read on pods is set on the workload that creates them, where it has no effect.

``cluster-autoscaler.kubernetes.io/safe-to-evict`` and ``karpenter.sh/do-not-disrupt`` are read on pods. A Deployment's
own annotations are not copied to its pods; those of its template are.

The API server accepts the object, and autoscalers treat the pods as if the annotation were not set.

Repair: move it to the template's metadata. That changes the template, so the pods are replaced once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import mapping

FAILS = """apps/v1 Deployment web
annotations:
  cluster-autoscaler.kubernetes.io/safe-to-evict: "false"  # <-
"""
PASSES = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
    spec:
      containers:
      - name: web
        image: nginx
"""

_OF_PODS: Final = ("cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if not pods.template:
        return
    own = mapping(pods.metadata.get("annotations"))
    for name in _OF_PODS:
        value = pods.obj.annotations.get(name)
        if value is not None and name not in own:
            to = (*pods.template, "metadata", "annotations", name)
            yield Problem(
                message=f"{name} has an effect on pods only; a {pods.obj.kind}'s annotations are not copied to its "
                "pods",
                steps=("metadata", "annotations", name),
                help="move it to the template's metadata",
                fix=setting(pods.obj, "add it to the template", (to, value)),
                key=True,
            )
