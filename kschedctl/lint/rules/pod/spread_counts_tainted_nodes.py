"""A constraint that spreads pods over nodes counts nodes that they do not tolerate, and may wait for those.

Over ``kubernetes.io/hostname`` every node is a domain, tainted ones too, because ``nodeTaintsPolicy`` is ``Ignore``
unless said otherwise. A node that the pods cannot go to has no pod of theirs and keeps the least count at zero, so that
no other node may have more than ``maxSkew``: of 4 replicas on 2 free nodes and a tainted one 2 wait. Every constraint
of this kind has it, and where all nodes are free nothing happens, so this is info; with a snapshot KS510 tells whether
it does.

The API server takes it, and pods may wait, mostly in a rollout or while a node is drained.

Repair: nodeTaintsPolicy: Honor.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.api.well_known import HOSTNAME
from kschedctl.lint.context import Context
from kschedctl.lint.fix import setting
from kschedctl.lint.pods import DO_NOT_SCHEDULE, Pods
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
spec:
  replicas: 3
  serviceName: db
  selector:
    matchLabels: {app: db}
  template:
    metadata:
      labels: {app: db}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname  # <-
        whenUnsatisfiable: DoNotSchedule
        labelSelector:
          matchLabels: {app: db}
      containers:
      - name: db
        image: postgres
"""
PASSES = FAILS.replace("DoNotSchedule", "DoNotSchedule\n        nodeTaintsPolicy: Honor")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Hard constraints over nodes that do not honour taints, of more than one pod."""
    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    for part in pods.spread:
        one = part.value
        if one is None or one.topology_key != HOSTNAME or one.when_unsatisfiable != DO_NOT_SCHEDULE:
            continue
        if one.node_taints_policy == "Honor" or one.label_selector is None:
            continue
        yield Problem(
            message=f"counts tainted nodes: one that the pods do not tolerate keeps the least count at 0, so that no "
            f"other node may have more than {one.max_skew}",
            steps=(*part.steps, "topologyKey"),
            help="set nodeTaintsPolicy: Honor",
            fix=setting(
                pods.obj, "set nodeTaintsPolicy: Honor", ((*part.steps, "nodeTaintsPolicy"), "Honor"), safe=False
            ),
        )
