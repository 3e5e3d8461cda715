"""Two autoscalers have the same target, so neither scales it.

The controller detects that pods are selected by several HorizontalPodAutoscalers, and sets the condition ScalingActive
of each to False with reason AmbiguousSelector (Kubernetes since 1.26: ``pkg/controller/podautoscaler/horizontal.go``,
"pods by selector ... are controlled by multiple HPAs"). A ScaledObject of KEDA creates a HorizontalPodAutoscaler, so it
counts as one. The rule compares autoscalers of one folder, as those of several folders are often variants.

The API server accepts both objects, and the number of replicas never changes.

Repair: one autoscaler with all metrics: the metric that asks for the most replicas decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.replicas import HPA, SCALED_OBJECT, scale_target
from kschedctl.linter.rule import Problem, Related

FAILS = """autoscaling/v2 HorizontalPodAutoscaler web-cpu
scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
maxReplicas: 5
---
autoscaling/v2 HorizontalPodAutoscaler web-memory
scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}  # <-
maxReplicas: 8
"""
PASSES = FAILS.partition("---\n")[0]


def check(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    target = scale_target(scaler)
    # KEDA creates an autoscaler for a ScaledObject.
    if target is None or context.manifests.owner(scaler) is not None:
        return
    for type_ in (HPA, SCALED_OBJECT):
        for other in context.manifests.beside(scaler, type_):
            if other.key == scaler.key or other.file.folder != scaler.file.folder:
                continue
            if context.manifests.owner(other) is not None:
                continue
            # Each pair is reported once: two HorizontalPodAutoscalers at the later one.
            if type_ == HPA and _order(other) > _order(scaler):
                continue
            if (same := scale_target(other)) is not None and (same.kind, same.name) == (target.kind, target.name):
                yield Problem(
                    message=f"{other.kind} {other.name} has the same target, {target.kind} {target.name}: neither "
                    "scales it",
                    steps=("spec", "scaleTargetRef"),
                    help="keep one autoscaler, with the metrics of both",
                    related=(Related(other, ("spec", "scaleTargetRef"), "the other autoscaler"),),
                )


def _order(scaler: LintObject) -> tuple[str, int, str]:
    return scaler.file.name, scaler.document.number, scaler.name
