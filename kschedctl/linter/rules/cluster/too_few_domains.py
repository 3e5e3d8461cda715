"""The nodes that the pods can be scheduled to have fewer domains than the pods need.

A required anti-affinity term that matches the pods themselves needs one domain per replica, and one more for a rollout
that starts new pods first. A spread constraint with minDomains needs that many domains, and treats the minimum count as
0 until then.

The API server accepts the object, and pods stay pending, or the next rollout hangs (warning).

Repair: more domains, fewer replicas, or a preferred instead of a required term.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.cluster.queries import domains, eligible_nodes, trial_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import self_terms
from kschedctl.linter.rollout_fixes import one_down_first, scaler_of
from kschedctl.linter.rule import Problem, Stage

FAILS = """apps/v1 StatefulSet db
replicas: 3
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: topology.kubernetes.io/zone  # <-
      labelSelector:
        matchLabels: {app: db}
"""
PASSES = FAILS.replace("replicas: 3", "replicas: 2")
OPTIONS = {"snapshot": snapshot(node("a", zone="a"), node("b", zone="b"), node("c", zone="b"))}


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    wants_domains = any(one.min_domains for _, one in pods.hard_spread)
    if count is None or not (wants_domains or list(self_terms(pods))):
        return
    trial = trial_of(pods, context, "KS509")
    if trial is None:
        return
    eligible = eligible_nodes(trial.on_empty_nodes)
    first = context.new_pods_first(pods) is not None
    labels = {each.name: each.metadata.labels for each in trial.base.nodes.objects}
    for steps, key in self_terms(pods):
        there = domains(eligible, key, trial.on_empty_nodes)
        # Nodes without the label are in no domain, so the term does not exclude them.
        if any(key not in labels[name] for name in eligible) or count.low + int(first) <= len(there):
            continue
        rollout = count.low == len(there)
        needs = f"{count.low} replicas need {count.low}" if not rollout else f"a rollout needs {count.low + 1}"
        yield Problem(
            message=f"{needs} {key} domains, and the pods can be scheduled to {len(there)}"
            + (f" ({', '.join(sorted(there)[:5])})" if there else ""),
            steps=steps,
            help="use fewer replicas, more domains, or a preferred instead of a required term",
            severity=Severity.WARNING if rollout else None,
            stop=Stage.HANGS if rollout else None,
            related=scaler_of(count),
            fix=one_down_first(pods) if rollout else None,
        )
    for spread, one in pods.hard_spread:
        if one.min_domains is None:
            continue
        there = domains(eligible, one.topology_key, trial.on_empty_nodes)
        if len(there) < one.min_domains and count.low > one.max_skew * len(there):
            yield Problem(
                message=f"requires {one.min_domains} domains of {one.topology_key}, and there are {len(there)}: at "
                f"most {one.max_skew * len(there)} of {count.low} pods fit",
                steps=(*spread.steps, "minDomains"),
                help="lower minDomains, or add domains",
                related=scaler_of(count),
            )
