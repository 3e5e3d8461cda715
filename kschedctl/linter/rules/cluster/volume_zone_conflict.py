"""A volume of the pods is available only on nodes that node selector, affinity or taints exclude.

The claim is bound, and its volume is available on some nodes only. Node selector, affinity and taints allow other
nodes, and no node is in both sets.

The API server accepts the object, and the pods stay pending for ever: a volume does not move.

Repair: remove the constraint, or use another volume in the intended zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import listed
from kschedctl.linter.cluster.queries import rejecting, trial_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod db
namespace: default
nodeSelector:
  topology.kubernetes.io/zone: b
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
"""
PASSES = FAILS.replace("zone: b", "zone: a")
OPTIONS = {
    "snapshot": snapshot(
        node("a", zone="a"),
        node("b", zone="b"),
        """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: data, accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
status: {phase: Bound}
""",
        """apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {kind: PersistentVolumeClaim, namespace: default, name: data}
  csi: {driver: ebs.csi.aws.com, volumeHandle: x}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]
status: {phase: Bound}
""",
    )
}

_VOLUMES = ("VolumeBinding", "VolumeZone")
_OTHERS = ("NodeAffinity", "TaintToleration")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    claims = list(pods.claims())
    trial = trial_of(pods, context, "KS508") if claims else None
    if trial is None or trial.decision.schedulable:
        return
    reasons = rejecting(trial.on_empty_nodes)
    names = set(trial.base.nodes.names)
    by_volume = {name for plugin in _VOLUMES for name in reasons.get(plugin, ())}
    by_others = {name for plugin in _OTHERS for name in reasons.get(plugin, ())}
    if not names or by_volume == names or by_others == names or by_volume | by_others != names:
        return
    at_volume = sorted(names - by_volume)
    yield Problem(
        message=f"the volume is available only on {listed(at_volume)}, which labels or taints exclude for these pods",
        steps=claims[0][0],
        help="remove the constraint, or use a volume where the pods can run",
    )
