"""A topology spread constraint requires more domains than the pods can be scheduled to, so not all replicas fit.

While there are fewer domains than ``minDomains``, the minimum count is treated as 0: each domain may then have at most
``maxSkew`` pods. If node selector or required affinity limit the topology key to fewer values than ``minDomains``,
adding nodes does not help.

The API server accepts the object, and the pods beyond maxSkew per domain stay pending for ever.

Repair: lower minDomains, or allow more domains.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.labels import holds
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 4
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: topology.kubernetes.io/zone
          operator: In
          values: [eu-1a, eu-1b]
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  minDomains: 3  # <-
  labelSelector:
    matchLabels: {app: web}
  matchLabelKeys: [pod-template-hash]
"""
PASSES = FAILS.replace("minDomains: 3", "minDomains: 2")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    if count is None:
        return
    for part, one in pods.hard_spread:
        if one.min_domains is None:
            continue
        values = pinned(pods, one.topology_key)
        if values is None or one.min_domains <= len(values) or not holds(part.raw.get("labelSelector"), pods.labels):
            continue
        fit = one.max_skew * len(values)
        if count.high > fit:
            yield Problem(
                message=f"requires {one.min_domains} domains of {one.topology_key}, and the pods can be scheduled "
                f"to {len(values)} ({', '.join(sorted(values))}): at most {fit} of {count.high} pods fit",
                steps=(*part.steps, "minDomains"),
                help=f"set minDomains to {max(len(values), 1)}, or allow more domains",
            )
