"""An annotation has no effect: one of alpha scheduling, or karpenter.sh/do-not-evict.

The scheduler ignores ``scheduler.alpha.kubernetes.io/critical-pod``, ``/affinity`` and ``/tolerations`` since
Kubernetes 1.16. Karpenter ignores ``karpenter.sh/do-not-evict`` since Karpenter 1.0, which replaced it by
``karpenter.sh/do-not-disrupt``.

The API server accepts the object, with a warning that is easily missed, and the annotation does nothing.

Repair: priorityClassName for critical pods, the fields of the spec for affinity and tolerations, else the annotation
that replaces it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing, renaming
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import Steps, at, mapping

FAILS = """v1 Pod web
annotations:
  scheduler.alpha.kubernetes.io/critical-pod: ""  # <-
"""
PASSES = """v1 Pod web
priorityClassName: system-cluster-critical
"""

_DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
#: The replacement, by annotation.
_INSTEAD: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": "priorityClassName",
    "scheduler.alpha.kubernetes.io/affinity": "spec.affinity",
    "scheduler.alpha.kubernetes.io/tolerations": "spec.tolerations",
    "karpenter.sh/do-not-evict": _DO_NOT_DISRUPT,
}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    places: dict[Steps, None] = dict.fromkeys(((*pods.template, "metadata"), ("metadata",)))
    for place in places:
        annotations = mapping(at(pods.obj.raw, *place, "annotations"))
        for name, instead in _INSTEAD.items():
            if name not in annotations:
                continue
            steps = (*place, "annotations", name)
            renamed = instead == _DO_NOT_DISRUPT and instead not in annotations
            fix = renaming(pods.obj, steps, instead) if renamed else removing(pods.obj, f"remove {name}", steps)
            yield Problem(
                message=f"the annotation {name} no longer has an effect",
                steps=steps,
                help=f"use {instead}",
                fix=fix,
                key=True,
            )
