"""The pods tolerate the taint node-role.kubernetes.io/master, and not its replacement, the control-plane taint.

Kubernetes 1.25 removed the taint from control-plane nodes; they have ``node-role.kubernetes.io/control-plane`` with the
same effect. Pods that tolerate only the old taint are not scheduled to these nodes.

The API server accepts the object. A DaemonSet then has no pods on control-plane nodes (warning). Pods that require
control-plane nodes stay pending (warning). Other pods only lose these nodes (info).

Repair: tolerate node-role.kubernetes.io/control-plane too.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.control_plane import CONTROL_PLANE, MASTER, NEAR_MISSES, tolerates_master_only
from kschedctl.linter.fix import appending
from kschedctl.linter.node_terms import wanted_keys
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem, Stage

FAILS = """v1 Pod web
tolerations:
- key: node-role.kubernetes.io/master  # <-
  operator: Exists
  effect: NoSchedule
"""
PASSES = f"""{FAILS}- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    index = tolerates_master_only(pods)
    if index is None or context.is_openshift(pods.obj):
        return
    part = pods.tolerations[index]
    near = next((each.value.key for each in pods.tolerations if each.value and each.value.key in NEAR_MISSES), "")
    must = wanted_keys(pods, (CONTROL_PLANE, MASTER)) is not None
    add = f"; {near} is a different taint, of RKE" if near else ""
    yield Problem(
        message=f"tolerates {MASTER}, a taint that was removed in Kubernetes 1.25, and not {CONTROL_PLANE}{add}",
        steps=(*part.steps, "key"),
        help=f"tolerate {CONTROL_PLANE} too",
        stop=Stage.WAITS if must else None,
        severity=Severity.WARNING if must or pods.type == "apps/DaemonSet" else None,
        fix=appending(
            pods.obj,
            f"tolerate {CONTROL_PLANE} too",
            pods.of_spec("tolerations"),
            {**part.raw, "key": CONTROL_PLANE},
            safe=False,
        ),
    )
