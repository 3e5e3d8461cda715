"""The pods mount a claim that is not in the manifest set.

Claims are often applied separately, so the rule runs only if it is selected. With a snapshot, KS507 checks the claims
of the cluster.

The API server accepts the object, and the pods stay pending if the claim does not exist.

Repair: add the claim, or name an existing one.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import PVC
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod db
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
"""
PASSES = f"""{FAILS}---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for steps, name in pods.claims():
        if not context.manifests.has(PVC, name) and not context.may_be_elsewhere("KS405", pods.obj):
            yield Problem(
                message=f"claim {name} is not in the manifest set",
                steps=steps,
                help="add the claim, or name an existing one",
            )
