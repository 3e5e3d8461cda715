"""A rollout starts a new pod while the old one uses a volume that is attached to one node at a time.

The claim is ReadWriteOnce, and a rolling update whose maxUnavailable is rounded to 0 starts the new pod first. If the
scheduler binds it to another node, it waits for the volume (Multi-Attach), and the old pod runs until the new one is
ready. The rule ignores volumes that are on a shared file system (nfs, efs, filestore, azurefile, cephfs, smb, nas,
glusterfs, fsx) or on one node (hostPath, local, topolvm), by storage class, provisioner or volume: volumes on one node
bind the new pod to the node of the old one. So do a node selector with one host name, and a required pod affinity to
the pods themselves on kubernetes.io/hostname.

The API server accepts the object, the pod runs, and the next rollout hangs unless the new pod happens to be scheduled
to the same node.

Repair: strategy Recreate, a StatefulSet, or a volume of another access mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import RWO, Mounted, attaches_to_one_node, is_on_one_node, mounted_claims
from kschedctl.linter.rollout_fixes import recreate
from kschedctl.linter.rule import Problem, Related

FAILS = """apps/v1 Deployment db
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
"""
PASSES = FAILS.replace("volumes:", "strategy:\n  type: Recreate\nvolumes:")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if is_on_one_node(pods):
        return
    for mounted, found in new_pods_before_old(pods, context, RWO, "on another node the new pod waits for the volume"):
        if attaches_to_one_node(mounted.claim, context.manifests):
            yield found


def new_pods_before_old(
    pods: WorkloadPods, context: LintContext, mode: str, consequence: str
) -> Iterator[tuple[Mounted, Problem]]:
    """Yield the claims of an access mode that a rollout needs twice, each with its problem."""
    if context.new_pods_first(pods) is None:
        return
    for mounted in mounted_claims(pods, context.manifests):
        if mounted.modes == (mode,):
            yield (
                mounted,
                Problem(
                    message=f"a rollout starts a new pod while the old one uses claim {mounted.claim.name}, which is "
                    f"{mode}: {consequence}",
                    steps=mounted.steps,
                    help="set strategy Recreate, or use a StatefulSet",
                    related=(Related(mounted.claim, ("spec", "accessModes"), "the claim"),),
                    fix=recreate(pods),
                ),
            )
