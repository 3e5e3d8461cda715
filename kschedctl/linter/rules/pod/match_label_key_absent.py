"""matchLabelKeys names a label that the pods do not have, so the key has no effect.

The scheduler ignores a key of ``matchLabelKeys`` that the pod does not have. Of labels that are not in the template,
only those that the controller adds can be intended, such as ``pod-template-hash``, which only Deployments add.

The API server accepts the object, and the constraint or term counts more pods than intended, so that pods can stay
pending.

Repair: name a label of the template, or remove the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import is_rendered, numbered

FAILS = """apps/v1 StatefulSet db
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: db}
  matchLabelKeys:
  - pod-template-hash  # <-
"""
PASSES = FAILS.replace("- pod-template-hash", "- controller-revision-hash")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    parts = [(part.steps, part.raw) for part in pods.spread]
    for affinity in ("podAffinity", "podAntiAffinity"):
        for required in (True, False):
            parts += [(part.steps, part.raw) for part in pods.terms(affinity, required=required)]
    for steps, raw in parts:
        for way, key in numbered(raw.get("matchLabelKeys"), (*steps, "matchLabelKeys")):
            if isinstance(key, str) and is_rendered(key) and not pods.labels.may_have(key):
                yield Problem(
                    message=f"the pods have no label {key}, so the key has no effect",
                    steps=way,
                    help="name a label of the template, or remove the key",
                )
