"""The pods must go to control-plane nodes and do not tolerate their taint.

Node selector or every required term asks for ``node-role.kubernetes.io/control-plane`` or ``/master``, and no
toleration is of the taint ``node-role.kubernetes.io/control-plane:NoSchedule`` that kubeadm and most others set. Where
control planes have no taint, as with k3s, the pods do run: a snapshot tells.

The API server takes it, and the pods wait.

Repair: tolerate node-role.kubernetes.io/control-plane, effect NoSchedule.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.api.tolerations import NO_SCHEDULE
from kschedctl.lint.context import Context
from kschedctl.lint.control_plane import CONTROL_PLANE, MASTER
from kschedctl.lint.fix import Fix, appending, setting
from kschedctl.lint.node_terms import wanted_keys
from kschedctl.lint.pods import Pods
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  nodeSelector:
    node-role.kubernetes.io/control-plane: ""  # <-
  containers:
  - name: web
    image: nginx
"""
PASSES = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  nodeSelector:
    node-role.kubernetes.io/control-plane: ""
  tolerations:
  - key: node-role.kubernetes.io/control-plane
    operator: Exists
    effect: NoSchedule
  containers:
  - name: web
    image: nginx
"""


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Templates that go nowhere but to control-plane nodes, without the toleration."""
    wanted = wanted_keys(pods, (CONTROL_PLANE, MASTER))
    if wanted is None or pods.tolerates(CONTROL_PLANE, NO_SCHEDULE) or context.is_openshift(pods.obj):
        return
    if context.against is not None and not context.against.has_taint(CONTROL_PLANE):
        return
    steps, label = wanted
    yield Problem(
        message=f"goes to nodes with {label} alone, and does not tolerate their taint {CONTROL_PLANE}:{NO_SCHEDULE}",
        steps=steps,
        help=f"tolerate {CONTROL_PLANE}, effect {NO_SCHEDULE}",
        fix=_fix(pods),
        key=steps[-1] == label,
    )


def _fix(pods: Pods) -> Fix:
    item = {"key": CONTROL_PLANE, "operator": "Exists", "effect": NO_SCHEDULE}
    steps, title = pods.of_spec("tolerations"), f"tolerate {CONTROL_PLANE}"
    return appending(pods.obj, title, steps, item) if pods.tolerations else setting(pods.obj, title, (steps, [item]))
