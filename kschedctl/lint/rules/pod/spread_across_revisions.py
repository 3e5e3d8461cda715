"""A hard topology spread constraint of a Deployment counts the pods of all its revisions, old ones too.

During a rollout old and new pods stand beside one another and are counted together: new pods are placed where they even
out the old ones, and once these are gone the new ones are not even. With few domains the rollout can hang: a new pod
fits nowhere until an old one goes, and that goes only once the new one runs. Of a Deployment that is recreated there
are never pods of two revisions, so nothing is said of it.

The API server takes it; what comes of it shows in rollouts.

Repair: matchLabelKeys: [pod-template-hash].
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.api.well_known import POD_TEMPLATE_HASH
from kschedctl.lint.context import Context
from kschedctl.lint.fix import Fix, appending, setting
from kschedctl.lint.labels import holds
from kschedctl.lint.pods import DO_NOT_SCHEDULE, Pods
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import Steps, at

FAILS = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector:  # <-
          matchLabels: {app: web}
      containers:
      - name: web
        image: nginx
"""
PASSES = FAILS.replace("DoNotSchedule", "DoNotSchedule\n        matchLabelKeys: [pod-template-hash]")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Hard constraints of Deployments whose selector takes in all revisions."""
    if pods.type != "apps/Deployment" or at(pods.obj.raw, "spec", "strategy", "type") == "Recreate":
        return
    for part in pods.spread:
        one = part.value
        if one is None or one.when_unsatisfiable != DO_NOT_SCHEDULE or POD_TEMPLATE_HASH in one.match_label_keys:
            continue
        if holds(part.raw.get("labelSelector"), pods.labels):
            yield Problem(
                message="counts the pods of old revisions too, which stand beside the new ones in a rollout",
                steps=(*part.steps, "labelSelector"),
                help=f"add matchLabelKeys: [{POD_TEMPLATE_HASH}]",
                fix=_fix(pods, part.steps, has_keys=bool(one.match_label_keys)),
            )


def _fix(pods: Pods, steps: Steps, *, has_keys: bool) -> Fix:
    title, field = f"add matchLabelKeys: [{POD_TEMPLATE_HASH}]", (*steps, "matchLabelKeys")
    if has_keys:
        return appending(pods.obj, title, field, POD_TEMPLATE_HASH)
    return setting(pods.obj, title, (field, [POD_TEMPLATE_HASH]), safe=False)
