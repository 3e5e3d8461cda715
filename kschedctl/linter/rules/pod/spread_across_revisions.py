"""A hard topology spread constraint of a Deployment counts the pods of all its revisions, including old ones.

During a rollout old and new pods exist side by side and are counted together: new pods are placed to balance the old
ones, and once the old pods are gone the new ones are unbalanced. With few domains the rollout can hang: a new pod fits
on no node until an old pod ends, and that ends only when the new pod runs. The rule ignores Deployments with strategy
Recreate, which never have pods of two revisions.

The API server accepts the object; the effect appears in rollouts.

Repair: matchLabelKeys: [pod-template-hash].
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import appending
from kschedctl.linter.labels import holds
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at
from kschedctl.objects.well_known import POD_TEMPLATE_HASH

FAILS = """apps/v1 Deployment web
replicas: 3
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector:  # <-
    matchLabels: {app: web}
"""
PASSES = FAILS.replace("DoNotSchedule", "DoNotSchedule\n  matchLabelKeys: [pod-template-hash]")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if pods.type != "apps/Deployment" or at(pods.obj.raw, "spec", "strategy", "type") == "Recreate":
        return
    for part, one in pods.hard_spread:
        if POD_TEMPLATE_HASH in one.match_label_keys:
            continue
        if holds(part.raw.get("labelSelector"), pods.labels):
            yield Problem(
                message="counts the pods of old revisions too, which exist beside the new ones in a rollout",
                steps=(*part.steps, "labelSelector"),
                help=f"add matchLabelKeys: [{POD_TEMPLATE_HASH}]",
                fix=appending(
                    pods.obj,
                    f"add matchLabelKeys: [{POD_TEMPLATE_HASH}]",
                    (*part.steps, "matchLabelKeys"),
                    POD_TEMPLATE_HASH,
                    safe=False,
                ),
            )
