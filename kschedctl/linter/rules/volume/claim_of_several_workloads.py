"""Several workloads mount one claim that can be used by one node, or by one pod, at a time.

With ReadWriteOnce, pods of another workload on another node wait for the volume: "Multi-Attach error for volume ...
Volume is already used by pod(s) ..." (kubegems/kubegems#483 and admirito/gvm-containers#39 are charts with this
problem). With ReadWriteOncePod, every pod but one stays pending (error): the plugin VolumeRestrictions rejects all
nodes. The rule ignores workloads that are kept on one node, by a node selector with one host name or a required pod
affinity to the other one on kubernetes.io/hostname, and the volumes that KS204 ignores. It compares workloads in the
folder of the claim.

The API server accepts the objects, and pods wait for the volume or stay pending.

Repair: one claim per workload, a volume that is ReadWriteMany, or a pod affinity that keeps the workloads together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods, holds_for
from kschedctl.linter.relations import RWO, RWOP, attaches_to_one_node, mounted_claims
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import Steps, at, text
from kschedctl.objects.well_known import HOSTNAME

FAILS = """v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]  # <-
---
apps/v1 Deployment api
volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apps/v1 Deployment worker
volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
PASSES = FAILS.replace("ReadWriteOnce", "ReadWriteMany")

_MODES: Steps = ("spec", "accessModes")


def check(claim: LintObject, context: LintContext) -> Iterator[Problem]:
    modes = at(claim.raw, *_MODES)
    if modes not in ([RWO], [RWOP]) or (modes == [RWO] and not attaches_to_one_node(claim, context.manifests)):
        return
    users = dict(_users(claim, context))
    apart = {
        pods: None for pair in combinations(users, 2) if modes == [RWOP] or not _are_together(*pair) for pods in pair
    }
    if apart:
        names = " and ".join(f"{pods.obj.kind} {pods.obj.name}" for pods in apart)
        what = "one pod" if modes == [RWOP] else "the pods of one node"
        yield Problem(
            message=f"{names} mount the claim, which {what} at a time can use ({modes[0]})",
            steps=_MODES,
            help="use one claim per workload, or a volume that is ReadWriteMany",
            severity=Severity.ERROR if modes == [RWOP] else None,
            related=tuple(Related(pods.obj, users[pods], "mounts the claim") for pods in apart),
        )


def _users(claim: LintObject, context: LintContext) -> Iterator[tuple[WorkloadPods, Steps]]:
    """Yield the workloads with pods that mount a claim, each with the path of the claim's name."""
    mounting = {
        pods: mounted.steps
        for pods in context.pods_seen_from(claim)
        for mounted in mounted_claims(pods, context.manifests)
        if mounted.claim is claim and pods.obj.file.folder == claim.file.folder
    }
    for pods in context.without_owned(mounting):
        count = context.replicas(pods)
        if count is None or count.high:
            yield pods, mounting[pods]


def _are_together(one: WorkloadPods, other: WorkloadPods) -> bool:
    """Report whether the pods of two workloads are on one node if they run."""
    hosts = [_host(pods) for pods in (one, other)]
    if hosts[0] and hosts[0] == hosts[1]:
        return True
    return any(
        part.raw.get("topologyKey") == HOSTNAME and holds_for(part, owner, others)
        for owner, others in ((one, other), (other, one))
        for part in owner.terms("podAffinity", required=True)
    )


def _host(pods: WorkloadPods) -> str:
    """Return the only node that pods can be on; empty if there may be several."""
    names = pinned(pods, HOSTNAME) or ()
    return text(pods.spec.get("nodeName")) or (next(iter(names)) if len(names) == 1 else "")
