"""A heap of queued pods, out of which any pod can be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from kschedctl.simulate.queued_pod import QueuedPodInfo


class PodHeap:
    """Queued pods by a key, the smallest first; of equal ones that which came first.

    Parameters
    ----------
    sort_key : callable
        What a pod is sorted by; it must not change while the pod is in the heap.
    """

    def __init__(self, sort_key: Callable[[QueuedPodInfo], Any]) -> None:
        self._sort_key = sort_key
        self._entries: list[tuple[Any, int, QueuedPodInfo]] = []
        self._numbers: dict[str, int] = {}
        self._pods: dict[str, QueuedPodInfo] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(tuple(self._pods.values()))

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod of a ``namespace/name``."""
        return self._pods.get(key)

    def push(self, info: QueuedPodInfo) -> None:
        """Put a pod in; one of the same name is taken out."""
        self._number += 1
        self._numbers[info.key] = self._number
        self._pods[info.key] = info
        heappush(self._entries, (self._sort_key(info), self._number, info))

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take a pod out; ``None`` where it is not in."""
        self._numbers.pop(key, None)
        return self._pods.pop(key, None)

    def peek(self) -> QueuedPodInfo | None:
        """The first pod; ``None`` where there is none."""
        while self._entries and self._numbers.get(self._entries[0][2].key) != self._entries[0][1]:
            heappop(self._entries)
        return self._entries[0][2] if self._entries else None

    def pop(self) -> QueuedPodInfo | None:
        """Take the first pod out; ``None`` where there is none."""
        first = self.peek()
        return self.remove(first.key) if first is not None else None
