"""An autoscaler says how many pods there are, and so does spec.replicas: each apply sets the number back.

Nothing hangs; applying the manifest scales the workload to spec.replicas, and the autoscaler scales it again. Not asked
unless it is selected, as some set it on purpose for the first apply.

Repair: leave spec.replicas out.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.fix import removing
from kschedctl.lint.pods import Pods
from kschedctl.lint.replicas import autoscaler
from kschedctl.lint.rule import Problem, Related
from kschedctl.lint.values import at

FAILS = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2  # <-
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
"""
PASSES = FAILS.replace("  replicas: 2  # <-\n", "")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Workloads that say how many there are although an autoscaler does."""
    replicas = at(pods.obj.raw, "spec", "replicas")
    if replicas is None or pods.obj.live or not replicas:
        return
    scaler = autoscaler(pods, context.given)
    if scaler is not None:
        yield Problem(
            message=f"{scaler.kind} {scaler.name} scales it, and each apply sets it back to {replicas}",
            steps=("spec", "replicas"),
            help="leave spec.replicas out",
            related=(Related(scaler, ("spec",), "the autoscaler"),),
            fix=removing(pods.obj, "remove spec.replicas", ("spec", "replicas"), safe=False),
        )
