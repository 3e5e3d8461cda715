"""Required pod affinity and anti-affinity for the same topology key both match the pods themselves.

The pods must share a domain and must not. The first pod fits, as no pod exists yet that it could violate. The second
pod must be in the domain of the first, and must not be.

The API server accepts the object, and every pod but the first stays pending for ever.

Repair: remove one of the terms, or give it another topology key.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods, holds_for
from kschedctl.linter.relations import self_terms
from kschedctl.linter.rule import Problem, Related

FAILS = """apps/v1 StatefulSet db
replicas: 2
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname  # <-
      labelSelector:
        matchLabels: {app: db}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: {app: db}
"""
PASSES = FAILS.replace("hostname  # <-", "os")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    repelling = {key: steps for steps, key in self_terms(pods)}
    for part in pods.terms("podAffinity", required=True):
        if part.value is None or not holds_for(part, pods, pods):
            continue
        repelled = repelling.get(part.value.topology_key)
        if repelled is not None:
            yield Problem(
                message=f"affinity requires one {part.value.topology_key}, anti-affinity forbids it: 1 of "
                f"{count.high} fits",
                steps=(*part.steps, "topologyKey"),
                help="remove this term or the anti-affinity, or give one of them another topologyKey",
                related=(Related(pods.obj, repelled, "the anti-affinity term"),),
            )
