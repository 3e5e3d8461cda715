"""The side effects of a suggestion: what happens besides the pod's placement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.recreated_pods import recreation_consequences
from kschedctl.diagnosis.why.rollout_trial import pod_to_delete, rollout_in_words, untried_rollout
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.resources import CPU, MEMORY
from kschedctl.scheduler.framework.remedy import Patch, Risk

#: The kinds whose controllers replace the running pods when the template changes.
_RESTARTED: Final = ("Deployment", "StatefulSet", "DaemonSet")


def consequences(suggestion: Suggestion, through: Sequence[Patch]) -> tuple[str, ...]:
    """Return the side effects of a suggestion as clauses.

    Parameters
    ----------
    suggestion : Suggestion
        The suggestion.
    through : sequence of Patch
        The patches of a workload's template that replace those of its pods.
    """
    return tuple(dict.fromkeys(_consequences(suggestion, through)))


def _consequences(suggestion: Suggestion, through: Sequence[Patch]) -> Iterator[str]:
    before = suggestion.before
    for patch in through:
        running = _running(before.cluster, before.pod)
        if patch.kind in _RESTARTED and running:
            yield f"restarts {counted(running, 'running pod')} of {patch.kind} {patch.name}"
        yield from untried_rollout(before.cluster, patch)
    yield from rollout_in_words(suggestion)
    deleted = pod_to_delete(suggestion, through)
    if deleted:
        yield f"{deleted} has to be deleted then: its StatefulSet does not replace a pending pod"
    classes = qos_class(before.pod), qos_class(suggestion.decision.pod)
    if classes[0] != classes[1]:
        yield f"QoS class {classes[1]} instead of {classes[0]}"
    for remedy in suggestion.remedies:
        if remedy.risk is Risk.DATA:
            yield "the data must be copied"
        if isinstance(remedy.family, tuple) and remedy.family[0] == "untaint":
            yield "opens the node to all pods"
    yield from recreation_consequences(suggestion)


def _running(cluster: Cluster, pod: Pod) -> int:
    """Return the number of pods of a pod's workload that have a node."""
    workload, pods = workload_of(cluster, pod.metadata), cluster.pods
    if workload[0] == Pod.__name__:
        return 0
    return sum(
        workload_of(cluster, pods.records[index].metadata) == workload
        for index in pods.assigned.tolist()
        if pods.records[index].metadata.namespace == pod.namespace
    )


def qos_class(pod: Pod) -> str:
    """Return a pod's QoS class from its containers (v1qos.ComputePodQOS); pod-level resources are not considered."""
    containers: tuple[Container, ...] = (*pod.spec.containers, *pod.spec.init_containers)
    if not any(one.resources.requests or one.resources.limits for one in containers):
        return "BestEffort"

    def guaranteed(one: Container) -> bool:
        limits, requests = one.resources.limits, one.resources.requests
        return all(name in limits and requests.get(name, limits[name]) == limits[name] for name in (CPU, MEMORY))

    return "Guaranteed" if all(map(guaranteed, containers)) else "Burstable"
