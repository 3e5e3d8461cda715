"""A hard spread constraint counts a domain that can take no pod and so keeps the minimum count at 0.

The constraint counts the domains of all nodes that its policies include; by default tainted nodes count. If no node of
a domain can take the pods, even without other pods, no other domain may have more than maxSkew of them. The finding is
an error if fewer pods fit that way than there are replicas, else info.

The API server accepts the object, and pods stay pending.

Repair: nodeTaintsPolicy: Honor if taints are the reason, else a node selector that excludes the domain.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed
from kschedctl.linter.cluster.queries import domains, rejecting, trial_of, usable_nodes
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.labels import holds
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rollout_fixes import scaler_of
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 4
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname  # <-
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: web}
"""
PASSES = FAILS.replace("DoNotSchedule", "DoNotSchedule\n  nodeTaintsPolicy: Honor")
OPTIONS = {"snapshot": snapshot(node("a"), node("b"), node("c", taint="gpu"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS510") if count is not None and pods.hard_spread else None
    if count is None or trial is None:
        return
    decision = trial.on_empty_nodes
    reasons = rejecting(decision)
    usable = usable_nodes(decision)
    for part, one in pods.hard_spread:
        if not holds(part.raw.get("labelSelector"), pods.labels):
            continue
        left_out = set(reasons.get("NodeAffinity", ())) if one.node_affinity_policy != "Ignore" else set()
        if one.node_taints_policy == "Honor":
            left_out |= {*reasons.get("TaintToleration", ()), *reasons.get("NodeUnschedulable", ())}
        counted = [name for name in trial.base.nodes.names if name not in left_out]
        blocked = domains(counted, one.topology_key, decision) - domains(usable, one.topology_key, decision)
        others = domains(usable, one.topology_key, decision)
        if not blocked or not others:
            continue
        fit = one.max_skew * len(others)
        yield Problem(
            message=f"{one.topology_key} {listed(sorted(blocked))} can take no pod and counts as a domain with 0: at "
            f"most {one.max_skew} in each other domain, {min(fit, count.high)} of {count.high} fit",
            steps=(*part.steps, "topologyKey"),
            help="set nodeTaintsPolicy: Honor, or exclude the domain with a node selector",
            severity=None if count.low > fit else Severity.INFO,
            related=scaler_of(count),
        )
