"""A topology spread constraint uses a label of which the pods can reach only one value, so it has no effect.

Node selector or required affinity limit the topology key to one value. The constraint counts only the nodes that they
match, so there is one domain, and the skew is always 0.

The API server accepts the object, and nothing is blocked: the constraint has no effect.

Repair: remove the constraint, or the requirement of one value.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
labels: {app: web}
nodeSelector:
  topology.kubernetes.io/zone: eu-1a
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone  # <-
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: web}
"""
PASSES = FAILS.replace("topologyKey: topology.kubernetes.io/zone", "topologyKey: kubernetes.io/hostname")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for part, one in pods.hard_spread:
        if one.min_domains is not None or one.node_affinity_policy == "Ignore":
            continue
        values = pinned(pods, one.topology_key)
        if values is not None and len(values) == 1:
            yield Problem(
                message=f"the pods are limited to {one.topology_key}={next(iter(values))}: with one domain the skew "
                "is always 0",
                steps=(*part.steps, "topologyKey"),
                help="remove the constraint, or the requirement of one value",
            )
