"""A heap of queued pods and pod groups from which any entry can be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from kschedctl.trials.simulate.queue_entry import QueueEntry


class PodHeap:
    """Entries of the queue in the order of a key, the smallest first; entries with equal keys by time of insertion.

    Parameters
    ----------
    sort_key : callable
        The sort key of an entry; it must not change while the entry is in the heap.
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
        """Return the entry with a key; ``None`` if it is not in the heap."""
        return self._pods.get(key)

    def push(self, info: QueueEntry) -> None:
        """Add an entry; it replaces the one with the same key."""
        self._number += 1
        self._numbers[info.key] = self._number
        self._pods[info.key] = info
        heappush(self._entries, (self._sort_key(info), self._number, info))

    def remove(self, key: str) -> QueueEntry | None:
        """Remove and return an entry; return ``None`` if it is not in the heap."""
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
