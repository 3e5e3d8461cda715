"""Fixes of rollouts, and the autoscaler of a workload as a related object."""

from __future__ import annotations

from kschedctl.linter.fix import Fix, setting
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import Replicas
from kschedctl.linter.rule import Related


def one_down_first(pods: WorkloadPods) -> Fix | None:
    """Return a fix that removes an old pod before a new one starts; ``None`` if the workload is not a Deployment."""
    if pods.type != "apps/Deployment":
        return None
    at = ("spec", "strategy")
    return setting(
        pods.obj,
        "set maxSurge 0 and maxUnavailable 1",
        ((*at, "type"), "RollingUpdate"),
        ((*at, "rollingUpdate", "maxSurge"), 0),
        ((*at, "rollingUpdate", "maxUnavailable"), 1),
        safe=False,
    )


def recreate(pods: WorkloadPods) -> Fix | None:
    """Return a fix that removes all old pods before new ones start; ``None`` if the workload is not a Deployment."""
    if pods.type != "apps/Deployment":
        return None
    strategy = ("spec", "strategy")
    return setting(pods.obj, "set strategy Recreate", (strategy, {"type": "Recreate"}), safe=False)


def scaler_of(count: Replicas) -> tuple[Related, ...]:
    """Return the autoscaler that determines the replicas, if any, as a related object."""
    if count.scaler is None:
        return ()
    return (Related(count.scaler, ("spec",), f"{count.scaler.kind} scales the pods from {count.low} to {count.high}"),)
