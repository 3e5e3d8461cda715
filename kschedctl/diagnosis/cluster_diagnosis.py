"""Diagnoses about a cluster: problems of workloads, nodes and components that no decision for a pod shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDiagnosis(Diagnosis):
    """The cause of a problem of an object.

    Attributes
    ----------
    kind, namespace, name : str
        The object; ``namespace`` is empty for a cluster-scoped kind.
    state : str
        The problem in a few words that follow the object's name, such as ``has 4 of 6 replicas``.
    missing : int
        The number of pods that have not been created.
    pods : tuple of str
        The stored pods that do not start, as ``namespace/name``, oldest first.
    since : datetime or None
        The time at which the problem began; ``None`` if it is unknown.
    """

    kind: str
    namespace: str
    name: str
    state: str
    missing: int = 0
    pods: tuple[str, ...] = ()
    since: datetime | None = None

    @property
    def subject(self) -> str:
        """The object as text, such as ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class ClusterSituation:
    """The facts that rules about a cluster look at.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    @property
    def cluster(self) -> Cluster:
        """The cluster."""
        return self.scheduler.cluster

    @property
    def release(self) -> Release:
        """The release whose rules apply."""
        return self.scheduler.release

    @property
    def now(self) -> datetime | None:
        """The time of the snapshot; ``None`` if it is unknown."""
        return self.cluster.taken_at

    @cached_property
    def pods_by_owner(self) -> dict[tuple[str, str, str], list[int]]:
        """The indices of the pods that are not being deleted, by kind, namespace and name of their controller."""
        out: dict[tuple[str, str, str], list[int]] = {}
        for index, record in enumerate(self.cluster.pods.records):
            owner = record.metadata.controller
            if owner is not None and record.metadata.deletion_timestamp is None:
                out.setdefault((owner.kind, record.metadata.namespace, owner.name), []).append(index)
        return out

    @cached_property
    def n_pending(self) -> int:
        """The number of pods without a node."""
        return int((self.cluster.pods.node_row == PENDING).sum())

    def seconds_since(self, time: datetime | None) -> float:
        """Return the age of a time at the time of the snapshot, in seconds; 0 if one of them is unknown."""
        return (self.now - time).total_seconds() if self.now is not None and time is not None else 0.0
