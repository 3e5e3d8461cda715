"""A heap of queued pods from which any pod can be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from kschedctl.simulate.queued_pod import QueuedPodInfo


class PodHeap:
    """Queued pods in the order of a key, the smallest first; pods with equal keys are in order of insertion.

    Parameters
    ----------
    sort_key : callable
        The sort key of a pod; it must not change while the pod is in the heap.
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
        """Return the queued pod with a ``namespace/name``; ``None`` if it is not in the heap."""
        return self._pods.get(key)

    def push(self, info: QueuedPodInfo) -> None:
        """Add a pod; it replaces a pod of the same name."""
        self._number += 1
        self._numbers[info.key] = self._number
        self._pods[info.key] = info
        heappush(self._entries, (self._sort_key(info), self._number, info))

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Remove and return a pod; return ``None`` if it is not in the heap."""
        self._numbers.pop(key, None)
        return self._pods.pop(key, None)

    def peek(self) -> QueuedPodInfo | None:
        """Return the first pod without removing it; ``None`` if the heap is empty."""
        while self._entries and self._numbers.get(self._entries[0][2].key) != self._entries[0][1]:
            heappop(self._entries)
        return self._entries[0][2] if self._entries else None

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the first pod; return ``None`` if the heap is empty."""
        first = self.peek()
        return self.remove(first.key) if first is not None else None
