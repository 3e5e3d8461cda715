"""The nodes that the pods may go to have fewer domains than they need.

A required anti-affinity term of theirs against themselves needs a domain for each replica, and a rollout that starts
new pods first one more. A spread constraint with minDomains needs so many, and takes the least count for zero until
then.

Pods wait, or the next rollout hangs (warning).

Repair: more domains, fewer replicas, or a term that prefers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.findings.finding import Severity
from kschedctl.lint.cluster.asking import domains, eligible_nodes, trial_of
from kschedctl.lint.context import Context
from kschedctl.lint.examples import node, snapshot
from kschedctl.lint.pods import DO_NOT_SCHEDULE, Pods
from kschedctl.lint.relations import self_terms
from kschedctl.lint.rollout_fixes import one_down_first, scaler_of
from kschedctl.lint.rule import Problem, Stop

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
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: topology.kubernetes.io/zone  # <-
            labelSelector:
              matchLabels: {app: db}
      containers:
      - name: db
        image: postgres
"""
PASSES = FAILS.replace("replicas: 3", "replicas: 2")
OPTIONS = {"snapshot": snapshot(node("a", zone="a"), node("b", zone="b"), node("c", zone="b"))}


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Workloads that need more domains than there are."""
    count = context.replicas(pods)
    wants_domains = any(part.value and part.value.min_domains for part in pods.spread)
    if count is None or not (wants_domains or list(self_terms(pods))):
        return
    trial = trial_of(pods, context, "KS509")
    if trial is None:
        return
    eligible = eligible_nodes(trial.on_empty_nodes)
    first = context.new_pods_first(pods) is not None
    for part in self_terms(pods):
        key = part.value.topology_key if part.value is not None else ""
        there = domains(eligible, key, trial.on_empty_nodes)
        # Nodes without the label are in no domain: the term does not keep pods off them.
        free = [name for name in eligible if key not in _labels(name, trial.base.nodes)]
        if free or count.low + int(first) <= len(there):
            continue
        rollout = count.low == len(there)
        needs = f"{count.low} replicas need {count.low}" if not rollout else f"a rollout needs {count.low + 1}"
        yield Problem(
            message=f"{needs} {key} domains, and the pods may go to {len(there)}"
            + (f" ({', '.join(sorted(there)[:5])})" if there else ""),
            steps=part.steps,
            help="use fewer replicas, more domains, or a term that prefers",
            severity=Severity.WARNING if rollout else None,
            stop=Stop.HANGS if rollout else None,
            related=scaler_of(count),
            fix=one_down_first(pods) if rollout else None,
        )
    for spread in pods.spread:
        one = spread.value
        if one is None or one.when_unsatisfiable != DO_NOT_SCHEDULE or one.min_domains is None:
            continue
        there = domains(eligible, one.topology_key, trial.on_empty_nodes)
        if len(there) < one.min_domains and count.low > one.max_skew * len(there):
            yield Problem(
                message=f"wants {one.min_domains} domains of {one.topology_key}, and there are {len(there)}: at most "
                f"{one.max_skew * len(there)} of {count.low} pods fit",
                steps=(*spread.steps, "minDomains"),
                help="lower minDomains, or add domains",
                related=scaler_of(count),
            )


def _labels(name: str, nodes: object) -> dict[str, str]:
    rows, objects = nodes.row, nodes.objects  # type: ignore[attr-defined]
    found: dict[str, str] = objects[rows[name]].metadata.labels
    return found
