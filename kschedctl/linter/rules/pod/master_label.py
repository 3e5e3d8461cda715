"""The pods require nodes with the label node-role.kubernetes.io/master, which kubeadm does not set.

Kubernetes 1.24 removed the label from control-plane nodes and replaced it by ``node-role.kubernetes.io/control-plane``.
The rule ignores objects for OpenShift, whose nodes still have the label, and pods of which one term requires the new
label.

The API server accepts the object, with a warning that is easily missed, and the pods stay pending.

Repair: require node-role.kubernetes.io/control-plane.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.control_plane import CONTROL_PLANE, MASTER
from kschedctl.linter.fix import renaming, setting
from kschedctl.linter.node_terms import demands_of, wanted_keys
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
nodeSelector:
  node-role.kubernetes.io/master: ""  # <-
tolerations:
- key: node-role.kubernetes.io/control-plane
  operator: Exists
"""
PASSES = FAILS.replace("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    wanted = wanted_keys(pods, (MASTER,))
    if wanted is None or context.is_openshift(pods.obj):
        return
    if any(demand.key == CONTROL_PLANE for steps, term in pods.node_terms or () for demand in demands_of(term, steps)):
        return
    steps, _ = wanted
    if steps[-1] == MASTER:
        fix = renaming(pods.obj, steps, CONTROL_PLANE) if CONTROL_PLANE not in pods.node_selector else None
    else:
        fix = setting(pods.obj, f"write {CONTROL_PLANE}", (steps, CONTROL_PLANE))
    yield Problem(
        message=f"requires nodes with {MASTER}, a label that kubeadm no longer sets as of Kubernetes 1.24",
        steps=steps,
        help=f"require {CONTROL_PLANE}",
        fix=fix,
        key=steps[-1] == MASTER,
    )
