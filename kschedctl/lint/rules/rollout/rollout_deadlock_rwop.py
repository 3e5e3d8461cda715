"""A rollout starts a new pod while the old one holds a claim that one pod at a time can have: it never ends.

The claim is ReadWriteOncePod, so the scheduler lets no second pod use it, on whatever node. A rolling update whose
maxUnavailable comes to zero takes no pod away before the new one runs.

The API server takes it, the pod runs, and the next rollout hangs for ever.

Repair: strategy Recreate, or a StatefulSet.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods
from kschedctl.lint.relations import RWOP, mounted_claims
from kschedctl.lint.rollout_fixes import recreate
from kschedctl.lint.rule import Problem, Related

FAILS = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: db
spec:
  selector:
    matchLabels: {app: db}
  template:
    metadata:
      labels: {app: db}
    spec:
      containers:
      - name: db
        image: postgres
      volumes:
      - name: data
        persistentVolumeClaim:
          claimName: data  # <-
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  accessModes: [ReadWriteOncePod]
  resources:
    requests:
      storage: 10Gi
"""
PASSES = FAILS.replace("spec:\n  selector:", "spec:\n  strategy:\n    type: Recreate\n  selector:")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Workloads that start new pods first and mount a claim that one pod at a time can have."""
    if context.new_pods_first(pods) is None:
        return
    for mounted in mounted_claims(pods, context.given):
        if mounted.modes == (RWOP,):
            yield Problem(
                message=f"a rollout starts a new pod while the old one holds claim {mounted.claim.name}, which is "
                "ReadWriteOncePod: the scheduler never lets the new one in",
                steps=mounted.steps,
                help="set strategy Recreate, or make it a StatefulSet",
                related=(Related(mounted.claim, ("spec", "accessModes"), "the claim"),),
                fix=recreate(pods),
            )
