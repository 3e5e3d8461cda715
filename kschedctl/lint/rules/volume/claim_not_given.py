"""The pods mount a claim that is not given.

Claims are often applied separately, so this is not asked unless it is selected; with a snapshot KS507 knows.

The API server takes it, and the pods wait where there is no such claim.

Repair: give the claim, or name one that there is.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods
from kschedctl.lint.relations import PVC
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: db
spec:
  containers:
  - name: db
    image: postgres
  volumes:
  - name: data
    persistentVolumeClaim:
      claimName: data  # <-
"""
PASSES = (
    FAILS
    + """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 10Gi
"""
)


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Claims that are not given."""
    for steps, name in pods.claims():
        if not context.given.has(PVC, name) and not context.may_be_elsewhere("KS405", pods.obj):
            yield Problem(
                message=f"claim {name} is not given", steps=steps, help="give the claim, or name one that there is"
            )
