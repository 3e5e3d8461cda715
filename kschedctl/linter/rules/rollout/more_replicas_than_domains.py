"""A workload has more replicas than domains that they can be scheduled to, and each domain takes one replica.

The pods match their own required anti-affinity, or use a port of their node, and node selector or required affinity
allow fewer values of the label than there are pods. Without such a limit, more than three pods that repel one another
by zone are reported as info: most regions have three zones.

The API server accepts the object, and the pods beyond the number of domains stay pending for ever.

Repair: fewer replicas, more domains, or a preferred instead of a required term.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import host_ports, self_terms
from kschedctl.linter.replicas import Replicas
from kschedctl.linter.rollout_fixes import scaler_of
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import Steps
from kschedctl.objects.well_known import HOSTNAME, ZONE

FAILS = """apps/v1 StatefulSet db
replicas: 3
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: topology.kubernetes.io/zone
          operator: In
          values: [eu-1a, eu-1b]
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: topology.kubernetes.io/zone  # <-
      labelSelector:
        matchLabels: {app: db}
"""
PASSES = FAILS.replace("[eu-1a, eu-1b]", "[eu-1a, eu-1b, eu-1c]")

_MOST_ZONES: Final = 3


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    if count is None:
        return
    for steps, key in self_terms(pods):
        left = pinned(pods, key)
        if left is not None and count.low > len(left):
            yield _problem(count, key, left, steps, "repel one another")
        elif left is None and key == ZONE and count.low > _MOST_ZONES and not context.has_no_domain(key):
            yield Problem(
                message=f"{count.low} pods that repel one another need {count.low} zones; most regions have "
                f"{_MOST_ZONES}",
                steps=steps,
                help="use a preferred instead of a required term, or fewer replicas",
                severity=Severity.INFO,
                related=scaler_of(count),
            )
    ports = host_ports(pods)
    left = pinned(pods, HOSTNAME) if ports else None
    if left is not None and count.low > len(left):
        yield _problem(count, HOSTNAME, left, ports[0].steps, f"use port {ports[0]} of their node")


def _problem(count: Replicas, key: str, left: set[str], steps: Steps, why: str) -> Problem:
    return Problem(
        message=f"{count.low} pods {why}, and can be scheduled to {len(left)} {key} domains "
        f"({', '.join(sorted(left))}): {len(left)} of {count.low} fit",
        steps=steps,
        help="use fewer replicas, or allow more domains",
        related=scaler_of(count),
    )
