"""A constraint that spreads pods over nodes counts nodes that the pods do not tolerate, which can keep pods pending.

With the topology key ``kubernetes.io/hostname`` every node is a domain, including tainted nodes, because
``nodeTaintsPolicy`` defaults to ``Ignore``. A node whose taints the pods do not tolerate runs none of them and keeps
the minimum count at 0, so that no other node may have more than ``maxSkew`` pods: with 4 replicas, ``maxSkew`` 1, 2
free nodes and a tainted one, 2 pods stay pending. Every constraint of this kind that counts the pods themselves is
affected, and nothing happens if no node is tainted, so the finding is info. With a snapshot KS510 reports in place of
this rule whether it happens.

The API server accepts the object, and pods can stay pending, mostly in a rollout or while a node is drained.

Repair: nodeTaintsPolicy: Honor.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.labels import holds
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.objects.well_known import HOSTNAME

FAILS = """apps/v1 StatefulSet db
replicas: 3
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname  # <-
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: db}
"""
PASSES = FAILS.replace("DoNotSchedule", "DoNotSchedule\n  nodeTaintsPolicy: Honor")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    # With a snapshot KS510 counts the nodes.
    if count is None or count.high < 2 or context.overlay is not None:
        return
    if context.nodes and not any(pods.is_repelled_by(taint) for node in context.nodes for taint in node.spec.taints):
        return
    for part, one in pods.hard_spread:
        if one.topology_key != HOSTNAME or one.node_taints_policy == "Honor":
            continue
        # Pods that the constraint does not count change no count (KS110).
        if one.label_selector is None or holds(part.raw.get("labelSelector"), pods.labels) is False:
            continue
        steps = (*part.steps, "nodeTaintsPolicy")
        yield Problem(
            message=f"counts tainted nodes: one that the pods do not tolerate keeps the minimum count at 0, so no "
            f"other node can have more than {one.max_skew}",
            steps=(*part.steps, "topologyKey"),
            help="set nodeTaintsPolicy: Honor",
            fix=setting(pods.obj, "set nodeTaintsPolicy: Honor", (steps, "Honor"), safe=False),
        )
