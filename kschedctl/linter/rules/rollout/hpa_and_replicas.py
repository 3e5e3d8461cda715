"""An autoscaler and spec.replicas both set the number of pods: each apply resets it to spec.replicas.

Applying the manifest scales the workload to spec.replicas, and the autoscaler then scales it back. Some authors set
spec.replicas on purpose for the first apply, so the rule runs only if it is selected.

Nothing is blocked; the number of pods changes with each apply.

Repair: leave spec.replicas out.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import autoscaler
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import at

FAILS = """apps/v1 Deployment web
replicas: 2  # <-
---
autoscaling/v2 HorizontalPodAutoscaler web
minReplicas: 2
maxReplicas: 10
"""
PASSES = FAILS.replace("replicas: 2  # <-\n", "")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    replicas = at(pods.obj.raw, "spec", "replicas")
    if replicas is None or pods.obj.live or not replicas:
        return
    scaler = autoscaler(pods, context.manifests)
    if scaler is not None:
        yield Problem(
            message=f"{scaler.kind} {scaler.name} scales the pods, and each apply resets spec.replicas to {replicas}",
            steps=("spec", "replicas"),
            help="leave spec.replicas out",
            related=(Related(scaler, ("spec",), "the autoscaler"),),
            fix=removing(pods.obj, "remove spec.replicas", ("spec", "replicas"), safe=False),
        )
