"""A topology spread constraint spreads over a label of which the pods may see one value only: it decides nothing.

Node selector or required affinity pin the topology key to one value. Counted are only nodes that these match, so there
is one domain, and the difference between domains is always zero.

The API server takes it, and nothing hangs: the constraint is only not what it seems.

Repair: remove the constraint, or what pins the label.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import Pods
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


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    for part, one in pods.hard_spread:
        if one.min_domains is not None or one.node_affinity_policy == "Ignore":
            continue
        values = pinned(pods, one.topology_key)
        if values is not None and len(values) == 1:
            yield Problem(
                message=f"the pods go to {one.topology_key}={next(iter(values))} alone: one domain is always even",
                steps=(*part.steps, "topologyKey"),
                help="remove the constraint, or what pins the label",
            )
