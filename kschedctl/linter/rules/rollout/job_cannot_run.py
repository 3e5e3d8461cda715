"""A Job runs several pods in parallel that repel one another, and limits them to fewer domains than pods.

Pods of a Job that match their own required anti-affinity need one domain each. If node selector or affinity allow fewer
domains, the other pods stay pending until the first ones end. If the pods wait for one another, as in an indexed or
gang-like Job, none ever ends.

The API server accepts the object, and pods stay pending.

Repair: less parallelism, or more domains.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import self_terms
from kschedctl.linter.rule import Problem

FAILS = """batch/v1 Job train
parallelism: 2
completions: 2
nodeSelector:
  kubernetes.io/hostname: node-1
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname  # <-
      labelSelector:
        matchLabels: {app: train}
"""
PASSES = FAILS.replace("kubernetes.io/hostname: node-1", "pool: train")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.replicas(pods) if pods.type in ("batch/Job", "batch/CronJob") else None
    if count is None or count.high < 2:
        return
    for steps, key in self_terms(pods):
        left = pinned(pods, key)
        if left is not None and len(left) < count.high:
            yield Problem(
                message=f"{count.high} pods run at a time and repel one another, and can be scheduled to {len(left)} "
                f"{key} domains ({', '.join(sorted(left))})",
                steps=steps,
                help="lower parallelism, or allow more domains",
            )
