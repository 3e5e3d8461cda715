"""The pods require control-plane nodes and do not tolerate the taint of these nodes.

The node selector or every required term requires the label ``node-role.kubernetes.io/control-plane`` or ``/master``,
and no toleration matches the taint ``node-role.kubernetes.io/control-plane:NoSchedule``, which kubeadm and most other
installers set. Control-plane nodes without a taint, as with k3s, do run the pods: with a snapshot the rule checks this.

The API server accepts the object, and the pods stay pending.

Repair: tolerate node-role.kubernetes.io/control-plane, effect NoSchedule.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.control_plane import CONTROL_PLANE, MASTER
from kschedctl.linter.fix import Fix, appending
from kschedctl.linter.node_terms import wanted_keys
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.objects.pod import NO_SCHEDULE

FAILS = """v1 Pod web
nodeSelector:
  node-role.kubernetes.io/control-plane: ""  # <-
"""
PASSES = f"""{FAILS}tolerations:
- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    wanted = wanted_keys(pods, (CONTROL_PLANE, MASTER))
    if wanted is None or pods.tolerates(CONTROL_PLANE, NO_SCHEDULE) or context.is_openshift(pods.obj):
        return
    taints = [taint.key for node in context.nodes for taint in node.spec.taints]
    if context.nodes and CONTROL_PLANE not in taints:
        return
    steps, label = wanted
    yield Problem(
        message=f"requires nodes with {label}, and does not tolerate their taint {CONTROL_PLANE}:{NO_SCHEDULE}",
        steps=steps,
        help=f"tolerate {CONTROL_PLANE}, effect {NO_SCHEDULE}",
        fix=_fix(pods),
        key=steps[-1] == label,
    )


def _fix(pods: WorkloadPods) -> Fix:
    item = {"key": CONTROL_PLANE, "operator": "Exists", "effect": NO_SCHEDULE}
    return appending(pods.obj, f"tolerate {CONTROL_PLANE}", pods.of_spec("tolerations"), item, safe=False)
