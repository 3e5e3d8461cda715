"""Pending pods grouped by cause: pods of one workload that are rejected alike, with the decision for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kschedctl.api.pod import Pod
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.outcome import Outcome
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.workloads.ownership import workload_of


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """Pods that wait for the same.

    Attributes
    ----------
    workload : (str, str, str)
        Kind, namespace and name of what made them; of a single pod its own.
    pods : tuple of Pod
        The pods, the oldest first.
    decision : Decision or None
        The decision for the first of them; ``None`` where no profile is responsible.
    """

    workload: tuple[str, str, str]
    pods: tuple[Pod, ...]
    decision: Decision | None

    @property
    def since(self) -> datetime | None:
        """Since when the oldest of them is there."""
        return self.pods[0].metadata.creation_timestamp

    @property
    def fits(self) -> bool:
        """Whether the pods could be placed as things are, one of them at least."""
        return self.decision is not None and self.decision.schedulable

    @property
    def preempts(self) -> bool:
        """Whether the pods make room for themselves: preemption finds a node for the first of them."""
        preemption = self.decision.preemption if self.decision is not None else None
        return self.hopeful and preemption is not None and bool(preemption.nominated)

    @property
    def hopeful(self) -> bool:
        """Whether it makes sense to look for what would help: the pods are tried, and turned away."""
        return self.decision is not None and self.decision.outcome is Outcome.UNSCHEDULABLE


def waiting_groups(scheduler: Scheduler, pods: Iterable[Pod]) -> list[WaitingGroup]:
    """Bring pods together that wait for the same, each as if the others did not wait; the largest groups first.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster.
    pods : iterable of Pod
        The pods that wait.
    """
    members: dict[tuple[object, ...], list[Pod]] = {}
    decided: dict[tuple[object, ...], Decision | None] = {}
    cluster = scheduler.cluster
    for pod in pods:
        kind: tuple[object, ...]
        workload = workload_of(cluster, pod.metadata)
        # Pods that have the same spec share it.
        kind = workload, id(pod.spec), pod.status.nominated_node_name, tuple(sorted(pod.metadata.labels.items()))
        if kind not in members:
            decided[kind] = scheduler.decide(pod) if scheduler.knows(pod) else None
        members.setdefault(kind, []).append(pod)
    merged: dict[tuple[object, ...], tuple[Decision | None, list[Pod]]] = {}
    for kind, of_kind in members.items():
        decision = decided[kind]
        told = None
        if decision is not None:
            told = decision.outcome, decision.message, decision.error, decision.pre_enqueue.message
        # Pods by themselves that wait for the same are one group, whatever they are called.
        maker = workload_of(cluster, of_kind[0].metadata)
        who = maker[:2] if maker[0] == Pod.__name__ else maker
        merged.setdefault((who, told), (decision, []))[1].extend(of_kind)
    groups = [
        WaitingGroup(workload_of(cluster, of_group[0].metadata), tuple(sorted(of_group, key=_age)), decision)
        for decision, of_group in merged.values()
    ]
    return sorted(groups, key=lambda group: (group.fits, -len(group.pods), _age(group.pods[0])))


def _age(pod: Pod) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return created is None, created.timestamp() if created is not None else 0.0, pod.key


def oldest(groups: Sequence[WaitingGroup]) -> datetime | None:
    """Since when the oldest of all pods that wait is there."""
    return min((group.since for group in groups if group.since is not None), default=None)
