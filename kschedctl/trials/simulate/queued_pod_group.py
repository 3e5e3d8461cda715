"""A pod group in the scheduling queue, with its members in the queue (upstream ``QueuedPodGroupInfo``)."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from kschedctl.objects.pod import Pod
from kschedctl.trials.simulate.queued_pod import QueuedPodInfo


def group_key(pod: Pod) -> str:
    """Return the key in the queue of a member's group."""
    return queue_key(pod.namespace, pod.spec.pod_group_name)


def queue_key(namespace: str, name: str) -> str:
    """Return the key of a group in the queue; it differs from the keys of all pods."""
    return f"podgroup {namespace}/{name}"


@dataclass(slots=True, eq=False)
class QueuedPodGroupInfo:
    """A pod group in the scheduling queue.

    Its attributes are those of ``QueuedPodInfo``, for the group as a whole.

    Attributes
    ----------
    namespace, name : str
        The namespace and name of the PodGroup.
    priority : int
        The priority of the PodGroup.
    members : list of QueuedPodInfo
        The members in the queue, in the order in which they are tried.
    """

    namespace: str
    name: str
    priority: int
    timestamp: datetime
    members: list[QueuedPodInfo] = field(default_factory=list)
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    gating_plugin: str = ""
    backoff_expiration: datetime | None = None

    @property
    def key(self) -> str:
        """The key in the queue."""
        return queue_key(self.namespace, self.name)

    @property
    def size(self) -> int:
        """The number of members in the queue."""
        return len(self.members)

    @property
    def rejectors(self) -> frozenset[str]:
        """An empty set: plugins reject members, never the group, so its back-off only ends with time."""
        return frozenset()

    @property
    def sorted_as(self) -> Pod:
        """The pod that stands for the group in the order of the queue: its first member, with the group's priority."""
        first = self.members[0].pod
        return replace(first, spec=replace(first.spec, priority=self.priority))

    def add(self, info: QueuedPodInfo) -> None:
        """Add a member in its place: by priority, number of attempts, time and name."""
        insort(self.members, info, key=_place)

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Remove and return a member by its ``namespace/name``; return ``None`` if it is not in the queue."""
        info = next((member for member in self.members if member.key == key), None)
        if info is not None:
            self.members.remove(info)
        return info


def _place(info: QueuedPodInfo) -> tuple[int, int, datetime, str]:
    return -(info.pod.spec.priority or 0), -info.attempts, info.timestamp, info.pod.name
