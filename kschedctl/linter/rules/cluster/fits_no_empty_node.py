"""The pods fit on no node of the snapshot, even if no other pods ran there.

The rule removes all pods from the nodes and checks each node: what remains are its size, labels, taints and volumes.

The API server accepts the object, and the pods stay pending until there is a node of another kind.

Repair: lower the requests below the largest node, or see why the nodes are rejected: kschedctl explain.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.cluster.queries import failure_cause, rejecting, trial_of
from kschedctl.linter.cluster.trial import Trial
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
spec:  # <-
resources:
  requests:
    cpu: "3"
"""
PASSES = FAILS.replace('cpu: "3"', 'cpu: "2"')
OPTIONS = {"snapshot": snapshot(node("a"), node("b"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    trial = trial_of(pods, context, "KS501")
    if trial is None or fits_an_empty_node(trial):
        return
    yield Problem(
        message=f"fits on no node, even if all were empty: {failure_cause(trial.on_empty_nodes)}",
        steps=pods.of_spec(),
        help="request less, or see why the nodes are rejected: kschedctl explain",
    )


def fits_an_empty_node(trial: Trial) -> bool:
    """Report whether a pod fits on a node without other pods, apart from its affinity to other pods."""
    if trial.decision.schedulable or trial.on_empty_nodes.schedulable:
        return True
    reasons = rejecting(trial.on_empty_nodes)
    nodes = set(trial.base.nodes.names)
    others = {name for plugin, names in reasons.items() if plugin != "InterPodAffinity" for name in names}
    return "InterPodAffinity" in reasons and nodes != others
