"""Node selector or required affinity limit the pods to a single node by its hostname.

If that node is drained or removed, the pods stay pending. For volumes on one node the selector is not needed, as the
volume has its own node affinity.

Nothing is blocked until that node is unavailable; then the pods stay pending.

Repair: select a label that several nodes have.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import REQUIRED, WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.objects.well_known import HOSTNAME

FAILS = """v1 Pod web
nodeSelector:
  kubernetes.io/hostname: node-1  # <-
"""
PASSES = FAILS.replace("kubernetes.io/hostname: node-1", "pool: web")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if pods.type == "apps/DaemonSet" or pods.obj.live:
        return
    names = pinned(pods, HOSTNAME)
    if names is None or len(names) != 1:
        return
    by_selector = HOSTNAME in pods.node_selector
    yield Problem(
        message=f"the pods can run only on node {next(iter(names))}, and stay pending without it",
        steps=pods.of_spec("nodeSelector", HOSTNAME)
        if by_selector
        else pods.of_spec("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"),
        help="select a label that several nodes have",
    )
