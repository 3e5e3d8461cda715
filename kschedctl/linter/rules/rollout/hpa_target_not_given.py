"""The target of a HorizontalPodAutoscaler is neither in the manifest set nor in the snapshot.

The controller cannot read the scale of a workload that does not exist, and sets the condition AbleToScale to False with
reason FailedGetScale (Kubernetes: ``pkg/controller/podautoscaler/horizontal.go``). The workload may be in other files.
Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with a snapshot, or
if it is selected. It checks kinds that are built into Kubernetes.

The API server accepts the object, and the autoscaler scales nothing.

Repair: the name of an existing workload, or remove the autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import nearest
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.replicas import SCALED, scale_target
from kschedctl.linter.rule import Problem

FAILS = """autoscaling/v2 HorizontalPodAutoscaler web
scaleTargetRef:
  apiVersion: apps/v1
  kind: Deployment
  name: wbe  # <-
maxReplicas: 5
---
apps/v1 Deployment web
"""
PASSES = FAILS.replace("wbe", "web")


def check(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    target = scale_target(scaler)
    if target is None or target.type not in SCALED or any(context.manifests.has(each, target.name) for each in SCALED):
        return
    if context.overlay is not None:
        found = context.overlay.has_object(target.type, target.name, scaler.namespace)
        if found is None:
            context.cannot_decide("KS213", scaler, f"the snapshot has no {target.kind}")
        if found is not False:
            return
    if context.may_be_elsewhere("KS213", scaler):
        return
    near = nearest(target.name, {each.name for each in context.manifests.beside(scaler, target.type)})
    yield Problem(
        message=f"the target {target.kind} {target.name} does not exist",
        steps=target.field("name"),
        help=f"did you mean {near}?" if near else "name an existing workload",
    )
