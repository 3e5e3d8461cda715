"""An annotation that nobody reads any more: of alpha scheduling, or karpenter.sh/do-not-evict.

``scheduler.alpha.kubernetes.io/critical-pod``, ``/affinity`` and ``/tolerations`` have had no effect since Kubernetes
1.16; ``karpenter.sh/do-not-evict`` since Karpenter 1.0, where ``karpenter.sh/do-not-disrupt`` has its place.

The API server takes it, with a warning that few see, and what it asks for does not happen.

Repair: priorityClassName for critical pods, the fields of the spec for affinity and tolerations, else the annotation
that has its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import Context
from kschedctl.linter.fix import removing, renaming
from kschedctl.linter.pods import Pods
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
#: What has their place.
_INSTEAD: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": "priorityClassName",
    "scheduler.alpha.kubernetes.io/affinity": "spec.affinity",
    "scheduler.alpha.kubernetes.io/tolerations": "spec.tolerations",
    "karpenter.sh/do-not-evict": _DO_NOT_DISRUPT,
}


def check(pods: Pods, context: Context) -> Iterator[Problem]:
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
                message=f"nobody reads the annotation {name} any more",
                steps=steps,
                help=f"use {instead}",
                fix=fix,
                key=True,
            )
