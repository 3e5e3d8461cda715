"""A DaemonSet can run on no node, or because of taints on fewer nodes than it selects.

Node selector and affinity select nodes, and NoSchedule and NoExecute taints exclude some of them. For a DaemonSet
without node selector and affinity, the rule reports only that no node is left.

The DaemonSet creates no pods on the excluded nodes, and nothing is pending.

Repair: tolerate the taint, or select other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.pods import eligible_nodes, with_daemon_tolerations
from kschedctl.linter.cluster.queries import readable_trial
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedctl.objects.workload import DaemonSet

FAILS = """apps/v1 DaemonSet agent
spec:  # <-
nodeSelector:
  pool: gpu
"""
PASSES = FAILS.replace("pool: gpu", "pool: gpu\ntolerations:\n- key: gpu\n  operator: Exists")
OPTIONS = {"snapshot": snapshot(node("a"), node("b", pool="gpu", taint="gpu"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    trial = readable_trial(pods, context, "KS514") if pods.type == "apps/DaemonSet" else None
    workload = trial.workload if trial is not None else None
    if trial is None or not isinstance(workload, DaemonSet) or workload.spec.template is None:
        return
    nodes = trial.cluster.nodes
    spec = with_daemon_tolerations(workload.spec.template.spec)
    left = eligible_nodes(nodes, spec)
    selected = [nodes.names[row] for row in np.flatnonzero(nodes_matching_pod(nodes, spec))]
    selects = bool(pods.node_selector) or pods.node_terms is not None
    if len(left) == len(selected) and left:
        return
    lost = [name for name in selected if name not in left]
    keys = sorted(
        {
            taint.key
            for name in lost
            for taint in nodes.objects[nodes.row[name]].spec.taints
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(spec.tolerations, taint)
        }
    )
    why = f"{listed(lost)} {'has' if len(lost) == 1 else 'have'} taint {listed(keys)}" if lost else "it selects no node"
    if not left:
        yield Problem(
            message=f"runs on no node: {why}", steps=pods.of_spec(), help="tolerate the taint, or select other nodes"
        )
    elif selects:
        yield Problem(
            message=f"runs on {len(left)} of the {len(selected)} nodes that it selects: {why}",
            steps=pods.of_spec(),
            help="tolerate the taint, or select other nodes",
        )
