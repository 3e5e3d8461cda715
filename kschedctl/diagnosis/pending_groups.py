"""Pending pods grouped by cause: pods of one workload that are rejected for the same reasons, or of one pod group."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kschedctl.cluster.pod_group_trees import tried_with
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.volumes.claims import claim_uses

_GROUP_KINDS: Final = frozenset({PodGroup.__name__, CompositePodGroup.__name__})
_AMOUNT: Final = r"\d+(\.\d+)?(m|[KMGTPE]i?)?"


@dataclass(frozen=True, slots=True)
class PendingGroup:
    """A group of pending pods of one workload with the same result, or the pending pods of a PodGroup."""

    #: Kind, namespace and name of the workload that created them, or of their PodGroup; for a single pod its own.
    workload: tuple[str, str, str]
    #: The pods, the oldest first.
    pods: tuple[Pod, ...]
    #: The decision for one of them, for members of a PodGroup as part of the decision for all; ``None`` if no
    #: profile is responsible.
    decision: Decision | None

    @property
    def since(self) -> datetime | None:
        """The creation time of the group's oldest pod, or ``None`` if it has none."""
        return self.pods[0].metadata.creation_timestamp

    @property
    def fits(self) -> bool:
        """True if at least one of the pods can be scheduled without any change."""
        return self.decision is not None and self.decision.schedulable

    @property
    def preempts(self) -> bool:
        """True if preemption nominates a node for the decided pod, or evicts pods for its PodGroup."""
        if self.pod_group is not None and self.pod_group.victims:
            return self.hopeful
        preemption = self.decision.preemption if self.decision is not None else None
        return self.hopeful and preemption is not None and bool(preemption.nominated)

    @property
    def pod_group(self) -> PodGroupDecision | None:
        """The decision for the PodGroup; ``None`` for pods that are tried by themselves or not tried."""
        return group_of(self.decision) if self.decision is not None else None

    @property
    def hopeful(self) -> bool:
        """True if remedies are worth a search: the scheduler tries the pods and rejects them, or waits for the gang."""
        if self.decision is None:
            return False
        waits = self.is_pod_group and self.decision.outcome is Outcome.GATED and not self.pods[0].spec.scheduling_gates
        return waits or self.decision.outcome is Outcome.UNSCHEDULABLE

    @property
    def is_pod_group(self) -> bool:
        """True for the pods of a PodGroup or of a tree of groups, which are tried together."""
        return self.workload[0] in _GROUP_KINDS


def group_pending_pods(scheduler: Scheduler, pods: Iterable[Pod]) -> list[PendingGroup]:
    """Group pending pods by workload and cause, the largest groups first; groups that can be scheduled come last.

    Each pod is decided for as if no other pod were pending. The members of a PodGroup are one group.
    """
    members: dict[tuple[object, ...], list[Pod]] = {}
    decided: dict[tuple[object, ...], Decision | None] = {}
    for pod in pods:
        kind: tuple[object, ...]
        workload = _group_or_workload(scheduler, pod)
        # Pods that have the same spec share it.
        kind = workload, id(pod.spec), pod.status.nominated_node_name, tuple(sorted(pod.metadata.labels.items()))
        if workload[0] in _GROUP_KINDS:
            kind = workload
        if kind not in members:
            decided[kind] = scheduler.decide_as_scheduled(pod) if scheduler.knows(pod) else None
        members.setdefault(kind, []).append(pod)
    merged: dict[tuple[object, ...], tuple[Decision | None, list[Pod]]] = {}
    for kind, of_kind in members.items():
        decision = decided[kind]
        told = None
        if decision is not None:
            told = decision.outcome, decision.message, decision.error, decision.pre_enqueue.message, _causes(decision)
        # Single pods of one namespace with the same cause are one group, whatever their names.
        maker = _group_or_workload(scheduler, of_kind[0])
        who = maker[:2] if maker[0] == Pod.__name__ else maker
        merged.setdefault((who, told), (decision, []))[1].extend(of_kind)
    groups = [
        PendingGroup(_group_or_workload(scheduler, of_group[0]), tuple(sorted(of_group, key=_age)), decision)
        for decision, of_group in merged.values()
    ]
    return sorted(groups, key=lambda group: (group.fits, -len(group.pods), _age(group.pods[0])))


def _causes(decision: Decision) -> tuple[str, ...]:
    """Return the causes for which a pod is pending, without what differs between pods of one cause.

    Amounts and the pod's own claims are left out. Pods of one workload come from one template, so that only the rules
    count: the causes differ in the names of the pods' own nodes and volumes.
    """
    found, pod = diagnose(decision), decision.pod
    if pod.metadata.controller is not None:
        return tuple(each.rule for each in found)
    claims = "".join(f"|{re.escape(use.claim)}" for use in claim_uses(pod))
    own = re.compile(rf"(?<![\w.-])({_AMOUNT}{claims})(?![\w-])")
    return tuple(own.sub("_", each.cause) for each in found)


def _group_or_workload(scheduler: Scheduler, pod: Pod) -> tuple[str, str, str]:
    """Return kind, namespace and name of the group with which a pod is tried, else of its workload."""
    group = tried_with(scheduler.cluster, scheduler.release, pod) if scheduler.knows(pod) else None
    return group or workload_of(scheduler.cluster, pod.metadata)


def _age(pod: Pod) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return created is None, created.timestamp() if created is not None else 0.0, pod.key


def oldest(groups: Sequence[PendingGroup]) -> datetime | None:
    """Return the creation time of the oldest pending pod, or ``None`` if no pod has one."""
    return min((group.since for group in groups if group.since is not None), default=None)
