"""The pending pods of a snapshot, and which of them would evict a given pod."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.classes import PriorityClass
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.framework.status import Code
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler


def pending_pods(cluster: Cluster) -> list[int]:
    """The pods without a node, highest priority first, then the oldest: indices into ``Cluster.pods``."""
    pods = cluster.pods
    return sorted(np.flatnonzero(pods.node_row == PENDING).tolist(), key=lambda index: queue_order(pods.pod(index)))


def queue_order(pod: Pod) -> tuple[int, float]:
    """What pending pods are sorted by: the highest priority first, then the oldest; new ones come last."""
    created = pod.metadata.creation_timestamp
    return -(pod.spec.priority or 0), created.timestamp() if created is not None else float("inf")


@dataclass(frozen=True, slots=True)
class Taker:
    """A pending pod that would evict a given pod.

    Attributes
    ----------
    decision : Decision
        The decision for the pending pod.
    node : str
        The node on which it would.
    certain : bool
        Whether chance has no say: every node that the pod can be nominated to has this victim.
    """

    decision: Decision
    node: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Exposure:
    """Who would evict a pod, and what would keep it safe.

    Attributes
    ----------
    takers : tuple of Taker
        The pending pods that would, highest priority first.
    safe_priority : int or None
        The priority from which on none of them would; ``None`` where none would now.
    safe_class : str
        The lowest PriorityClass that has it; empty where there is none.
    """

    takers: tuple[Taker, ...]
    safe_priority: int | None
    safe_class: str


def threat(scheduler: Scheduler, victim: int) -> Exposure:
    """Which pending pods, each against the snapshot as it is, would take a pod as a victim.

    Parameters
    ----------
    victim : int
        Index into ``Cluster.pods``.
    """
    pods = scheduler.cluster.pods
    takers = []
    for index in pending_pods(scheduler.cluster):
        pod = pods.pod(index)
        if pods.priority[index] <= pods.priority[victim] or not scheduler.knows(pod):
            continue
        decision = scheduler.explain(pod)
        # A pod with a gate is not tried, so it evicts nobody.
        if decision.preemption is None or decision.pre_enqueue.code is not Code.SUCCESS:
            continue
        chosen = [c for c in decision.preemption.candidates if not c.lost_at]
        taking = [c for c in chosen if any(v.pod == victim for v in c.victims)]
        if taking:
            takers.append(Taker(decision, taking[0].node, len(taking) == len(chosen)))
    if not takers:
        return Exposure((), None, "")
    # A pod is evicted only for one of higher priority.
    safe = max(taker.decision.pod.spec.priority or 0 for taker in takers)
    classes = [c for c in scheduler.cluster.list(PriorityClass) if c.value >= safe]
    return Exposure(tuple(takers), safe, min(classes, key=lambda c: c.value).name if classes else "")
