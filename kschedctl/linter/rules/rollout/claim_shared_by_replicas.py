"""Several replicas mount one claim that can be used by one node, or by one pod, at a time.

All pods of a Deployment, a ReplicaSet or a Job use the same claim, and those of a StatefulSet too if the claim is in
spec.volumes and not in volumeClaimTemplates. With ReadWriteOnce, pods on other nodes wait for the volume
(Multi-Attach). With ReadWriteOncePod every pod but one stays pending (error). The rule ignores shared file systems,
volumes on one node, and pods that can be on one node only, as KS204 does.

The API server accepts the object, and pods wait for the volume or stay pending.

Repair: a StatefulSet with volumeClaimTemplates, or a volume that is ReadWriteMany.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import RWO, RWOP, attaches_to_one_node, is_on_one_node, mounted_claims
from kschedctl.linter.replicas import SCALED
from kschedctl.linter.rollout_fixes import scaler_of
from kschedctl.linter.rule import Problem, Related

FAILS = """apps/v1 Deployment web
replicas: 2
strategy:
  type: Recreate
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
"""
PASSES = FAILS.replace("ReadWriteOnce", "ReadWriteMany")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if pods.type not in SCALED and pods.type not in ("batch/Job", "batch/CronJob"):
        return
    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    for mounted in mounted_claims(pods, context.manifests):
        one_pod = mounted.modes == (RWOP,)
        if not one_pod and not (
            mounted.modes == (RWO,)
            and not is_on_one_node(pods)
            and attaches_to_one_node(mounted.claim, context.manifests)
        ):
            continue
        what = "one pod" if one_pod else "the pods of one node"
        yield Problem(
            message=f"{count.high} pods mount claim {mounted.claim.name}, which {what} at a time can use "
            f"({mounted.modes[0]})",
            steps=mounted.steps,
            help="use volumeClaimTemplates of a StatefulSet, or a volume that is ReadWriteMany",
            severity=Severity.ERROR if one_pod else None,
            related=(Related(mounted.claim, ("spec", "accessModes"), "the claim"), *scaler_of(count)),
        )
