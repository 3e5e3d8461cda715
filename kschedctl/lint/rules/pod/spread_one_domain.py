"""A topology spread constraint spreads over a label of which the pods may see one value only: it decides nothing.

Node selector or required affinity pin the topology key to one value. Counted are only nodes that these match, so there
is one domain, and the difference between domains is always zero.

The API server takes it, and nothing hangs: the constraint is only not what it seems.

Repair: remove the constraint, or what pins the label.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.node_terms import pinned
from kschedctl.lint.pods import DO_NOT_SCHEDULE, Pods
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  nodeSelector:
    topology.kubernetes.io/zone: eu-1a
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone  # <-
    whenUnsatisfiable: DoNotSchedule
    labelSelector:
      matchLabels: {app: web}
  containers:
  - name: web
    image: nginx
"""
PASSES = FAILS.replace("topologyKey: topology.kubernetes.io/zone", "topologyKey: kubernetes.io/hostname")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Hard constraints over a label that is pinned to one value."""
    for part in pods.spread:
        one = part.value
        if one is None or one.when_unsatisfiable != DO_NOT_SCHEDULE or one.min_domains is not None:
            continue
        if one.node_affinity_policy == "Ignore":
            continue
        values = pinned(pods, one.topology_key)
        if values is not None and len(values) == 1:
            yield Problem(
                message=f"the pods go to {one.topology_key}={next(iter(values))} alone: one domain is always even",
                steps=(*part.steps, "topologyKey"),
                help="remove the constraint, or what pins the label",
            )
