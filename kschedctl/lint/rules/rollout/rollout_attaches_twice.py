"""A rollout starts a new pod while the old one holds a volume that one node at a time can have.

The claim is ReadWriteOnce, and a rolling update whose maxUnavailable comes to zero starts the new pod first. Where the
scheduler sends it to another node, it waits for the volume (Multi-Attach), and the old pod waits for it to run. Nothing
is said where class, provisioner or volume are known to be a shared file system (nfs, efs, filestore, azurefile, cephfs,
smb, nas, glusterfs, fsx) or to lie on one node (hostPath, local, topolvm): those tie the new pod to the old one's node.

The API server takes it, the pod runs, and the next rollout hangs unless chance keeps the pod on its node.

Repair: strategy Recreate, a StatefulSet, or a volume of another access mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods
from kschedctl.lint.relations import RWO, attaches_to_one_node, mounted_claims
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
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 10Gi
"""
PASSES = FAILS.replace("spec:\n  selector:", "spec:\n  strategy:\n    type: Recreate\n  selector:")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Workloads that start new pods first and mount a claim that one node at a time can have."""
    if context.new_pods_first(pods) is None:
        return
    for mounted in mounted_claims(pods, context.given):
        if mounted.modes == (RWO,) and attaches_to_one_node(mounted.claim, context.given):
            yield Problem(
                message=f"a rollout starts a new pod while the old one holds claim {mounted.claim.name}, which is "
                "ReadWriteOnce: on another node it waits for the volume",
                steps=mounted.steps,
                help="set strategy Recreate, or make it a StatefulSet",
                related=(Related(mounted.claim, ("spec", "accessModes"), "the claim"),),
                fix=recreate(pods),
            )
