"""Small clusters for table tests: nodes of 4 CPU, running pods, and a preemptor of priority 100."""

from collections.abc import Iterable
from typing import Any

from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.preemption.result import PreemptionResult
from tests.builders import decide, make_cluster, make_node, make_object, make_pod

EARLY, LATE = "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"


def running(name: str, node: str, cpu: str, priority: int = 0, start: str = EARLY, **fields: Any) -> Pod:
    status = {"startTime": start, **fields.pop("status", {})}
    return make_pod(name, node=node, requests={"cpu": cpu}, priority=priority, status=status, **fields)


def budget(name: str, app: str | None, allowed: int, **status: Any) -> PodDisruptionBudget:
    selector = {"matchLabels": {"app": app}} if app else {}
    return make_object(
        PodDisruptionBudget,
        name,
        namespace="default",
        spec={"selector": selector},
        status={"disruptionsAllowed": allowed, **status},
    )


def preempt(
    pods: Iterable[Pod], *objects: Any, cpu: str = "3", nodes: tuple[str, ...] = ("a",), **pod: Any
) -> PreemptionResult:
    cluster = make_cluster([make_node(name, cpu="4") for name in nodes], pods, *objects)
    decision = decide(make_pod("preemptor", requests={"cpu": cpu}, priority=100, **pod), cluster)
    found = decision.preemption
    assert found is not None, decision.best
    return found


def victims(found: PreemptionResult, pods: list[Pod]) -> dict[str, str]:
    """Return the names of the victims by candidate node."""
    return {c.node: " ".join(pods[v.pod].name for v in c.victims) for c in found.candidates}
