"""The target of a HorizontalPodAutoscaler is not what the manifests have under its name, or cannot be scaled.

``scaleTargetRef`` names a kind other than that of the workload of this name (StatefulSet in place of Deployment), an
API group without that kind (``extensions/v1beta1``, ``app/v1``), a misspelt kind (``deployment``), or a kind without
replicas (DaemonSet, Job). The controller looks the target up by group and kind, finds nothing, and sets the condition
AbleToScale to False with reason FailedGetScale (Kubernetes: ``pkg/controller/podautoscaler/horizontal.go``,
``scaleForResourceMappings``).

The API server accepts the object, and the number of replicas never changes.

Repair: the kind and API version of the workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import meant
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.replicas import SCALED, ScaleTarget, scale_target
from kschedctl.linter.rule import Problem, Related

FAILS = """autoscaling/v2 HorizontalPodAutoscaler db
scaleTargetRef:
  apiVersion: apps/v1
  kind: Deployment  # <-
  name: db
maxReplicas: 5
---
apps/v1 StatefulSet db
"""
PASSES = FAILS.replace("Deployment", "StatefulSet")

_SERVED: Final = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1"}
_GROUP: Final = "apps"
_FIXED: Final = frozenset(("apps/DaemonSet", "batch/Job", "batch/CronJob"))


def check(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    target = scale_target(scaler)
    if target is None:
        return
    # The group of a custom resource has a dot.
    is_own_group = bool(target.group) and target.group != _GROUP and "." not in target.group
    if target.kind in _SERVED and is_own_group:
        version = _SERVED[target.kind]
        field = target.field("apiVersion")
        yield Problem(
            message=f'the target is not found: group "{target.group}" has no {target.kind}',
            steps=field,
            help=f"write apiVersion: {version}",
            fix=setting(scaler, f"write apiVersion: {version}", (field, version), safe=False),
        )
    elif target.type in _FIXED:
        yield Problem(
            message=f"the target is a {target.kind}, whose number of pods cannot be scaled",
            steps=target.field("kind"),
            help="remove the autoscaler, or name a Deployment or StatefulSet",
        )
    elif target.group == _GROUP and (correct := meant(target.kind, _SERVED)):
        yield Problem(
            message=f'the target is not found: group "{_GROUP}" has no {target.kind}',
            steps=target.field("kind"),
            help=f"did you mean {correct[0]}?",
            fix=setting(scaler, f"write kind: {correct[0]}", (target.field("kind"), correct[0]), safe=False),
        )
    elif target.kind in _SERVED and target.group == _GROUP and not context.manifests.has(target.type, target.name):
        yield from _of_another_kind(scaler, target, context)


def _of_another_kind(scaler: LintObject, target: ScaleTarget, context: LintContext) -> Iterator[Problem]:
    others = (context.manifests.named(scaler, type_, target.name) for type_ in sorted(SCALED))
    found = [other for other in others if other is not None and not context.manifests.owners(other)]
    if len(found) == 1:
        yield Problem(
            message=f"the target {target.kind} {target.name} is not in the manifest set; {target.name} is a "
            f"{found[0].kind}",
            steps=target.field("kind"),
            help=f"write kind: {found[0].kind}, apiVersion: {found[0].api_version}",
            related=(Related(found[0], (), "the workload of this name"),),
        )
