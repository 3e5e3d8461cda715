"""A pod in the scheduling queue, with the queue's record of it (upstream ``QueuedPodInfo``)."""

from bisect import insort
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime
from heapq import heappop, heappush
from typing import Any

import msgspec
from msgspec.structs import replace

from kschedctl.objects.pod import Pod


class _QueueRecord(msgspec.Struct, kw_only=True, eq=False):
    """The queue's record of a pod, or of a pod group as a whole."""

    #: The time of arrival, or at which the last attempt failed.
    timestamp: datetime
    #: The number of scheduling attempts.
    attempts: int = 0
    #: The number of attempts that plugins rejected; each lengthens the back-off.
    unschedulable_count: int = 0
    #: The number of consecutive attempts that failed with an error instead of a rejection.
    consecutive_errors: int = 0
    #: The PreEnqueue plugin that gates the entry; empty if none does.
    gating_plugin: str = ""
    #: The end of the back-off; ``None`` if it has not been computed.
    backoff_expiration: datetime | None = None


class QueuedPodInfo(_QueueRecord, eq=False):
    """A pod in the scheduling queue."""

    #: The current pod.
    pod: Pod
    #: The plugins that rejected the last attempt; ``pending_plugins`` are those that returned the status Pending
    #: because they wait for an event.
    unschedulable_plugins: set[str] = msgspec.field(default_factory=set)
    pending_plugins: set[str] = msgspec.field(default_factory=set)
    #: The key by which pods are batched (``framework.signature``); ``None`` if the pod cannot be batched.
    signature: Hashable | None = None
    #: The number of the pod in the order of arrival.
    number: int = 0

    @property
    def members(self) -> "list[QueuedPodInfo]":
        """The pod itself, as the only member of its entry in the queue."""
        return [self]

    @property
    def size(self) -> int:
        """The number of pods of the entry: 1."""
        return 1

    @property
    def sorted_as(self) -> Pod:
        """The pod that stands for the entry in the order of the queue."""
        return self.pod

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return self.pod.key

    @property
    def rejectors(self) -> set[str]:
        """The plugins whose events can make the pod schedulable."""
        return self.unschedulable_plugins | self.pending_plugins


# A pod group in the scheduling queue, with its members in the queue (upstream ``QueuedPodGroupInfo``).


def group_key(pod: Pod) -> str:
    """Return the key of a member's PodGroup; it differs from the keys of all pods."""
    return f"podgroup/{pod.namespace}/{pod.spec.pod_group_name}"


class QueuedPodGroupInfo(_QueueRecord, eq=False):
    """A pod group in the scheduling queue, or a tree of groups."""

    #: The key in the queue (``entity_key`` of the group, or of the root of its tree).
    key: str
    #: The priority of the group.
    priority: int
    #: The members in the queue, in the order in which they are tried.
    members: list[QueuedPodInfo] = msgspec.field(default_factory=list)

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
        insort(
            self.members,
            info,
            key=lambda one: (-(one.pod.spec.priority or 0), -one.attempts, one.timestamp, one.pod.name),
        )

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Remove and return a member by its ``namespace/name``; return ``None`` if it is not in the queue."""
        info = next((member for member in self.members if member.key == key), None)
        if info is not None:
            self.members.remove(info)
        return info


# The entries of the scheduling queue: pods, and since 1.37 pod groups (upstream ``QueuedEntityInfo``).

QueueEntry = QueuedPodInfo | QueuedPodGroupInfo


# A heap of queued pods and pod groups from which any entry can be removed.


class PodHeap:
    """Entries of the queue in the order of a key, the smallest first; entries with equal keys by time of insertion.

    Args:
        sort_key: The sort key of an entry; it must not change while the entry is in the heap.
    """

    def __init__(self, sort_key: Callable[[QueueEntry], Any]) -> None:
        self._sort_key = sort_key
        self._entries: list[tuple[Any, int, QueueEntry]] = []
        self._numbers: dict[str, int] = {}
        self._pods: dict[str, QueueEntry] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueueEntry]:
        return iter(tuple(self._pods.values()))

    def get(self, key: str) -> QueueEntry | None:
        return self._pods.get(key)

    def push(self, info: QueueEntry) -> None:
        """Add an entry; it replaces the one with the same key."""
        self._number += 1
        self._numbers[info.key] = self._number
        self._pods[info.key] = info
        heappush(self._entries, (self._sort_key(info), self._number, info))

    def remove(self, key: str) -> QueueEntry | None:
        self._numbers.pop(key, None)
        return self._pods.pop(key, None)

    def peek(self) -> QueueEntry | None:
        """Return the first entry without removing it; ``None`` if the heap is empty."""
        while self._entries and self._numbers.get(self._entries[0][2].key) != self._entries[0][1]:
            heappop(self._entries)
        return self._entries[0][2] if self._entries else None

    def pop(self) -> QueueEntry | None:
        """Remove and return the first entry; return ``None`` if the heap is empty."""
        first = self.peek()
        return self.remove(first.key) if first is not None else None
