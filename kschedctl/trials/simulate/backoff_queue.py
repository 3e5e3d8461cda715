"""backoffQ: pods that failed wait before they are retried (upstream ``backend/queue/backoff_queue.go``).

The back-off doubles with every failure, from the initial to the maximum back-off. If pods may be popped early (gate
SchedulerPopFromBackoffQ), back-off ends at full seconds, and pods of the same second are in active-queue order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kschedctl.trials.simulate.pod_heap import PodHeap
from kschedctl.trials.simulate.queue_entry import QueueEntry

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
#: The step to which ends of back-off are aligned.
WINDOW: Final = timedelta(seconds=1)


class BackoffQueue:
    """The pods in back-off; those that failed with an error are in a separate heap.

    Parameters
    ----------
    initial, longest : timedelta
        ``podInitialBackoffSeconds`` and ``podMaxBackoffSeconds`` of the configuration.
    active_key : callable
        The sort key of the active queue.
    pops_early : bool
        True if the gate SchedulerPopFromBackoffQ is enabled.
    """

    def __init__(
        self,
        initial: timedelta,
        longest: timedelta,
        active_key: Callable[[QueueEntry], Any],
        *,
        pops_early: bool,
    ) -> None:
        self._initial = initial
        self._longest = longest
        self._aligns = pops_early
        by_time: Callable[[QueueEntry], Any] = self.expiration
        self.unschedulable = PodHeap(lambda info: (by_time(info), active_key(info)) if pops_early else by_time(info))
        self.failed = PodHeap(by_time)

    def __len__(self) -> int:
        return len(self.unschedulable) + len(self.failed)

    def __contains__(self, key: str) -> bool:
        return key in self.unschedulable or key in self.failed

    def get(self, key: str) -> QueueEntry | None:
        """Return the queued pod with a ``namespace/name``; ``None`` if it is not in the queue."""
        return self.unschedulable.get(key) or self.failed.get(key)

    def add(self, info: QueueEntry) -> None:
        """Add a pod."""
        heap, other = (self.unschedulable, self.failed) if info.rejectors else (self.failed, self.unschedulable)
        heap.push(info)
        other.remove(info.key)

    def remove(self, key: str) -> QueueEntry | None:
        """Remove and return a pod; return ``None`` if it is not in the queue."""
        return self.unschedulable.remove(key) or self.failed.remove(key)

    def is_backing_off(self, info: QueueEntry, now: datetime) -> bool:
        """Report whether a pod is in back-off at ``now``."""
        return self.expiration(info) >= self._window(now)

    def expiration(self, info: QueueEntry) -> datetime:
        """Return the end of a pod's back-off; a moment in the distant past for a pod that has not failed."""
        count = info.consecutive_errors or info.unschedulable_count
        if not self._longest or not count:
            return _LONG_AGO
        if info.backoff_expiration is None:
            info.backoff_expiration = self._window(info.timestamp + self._duration(count, info.size))
        return info.backoff_expiration

    def _duration(self, count: int, size: int) -> timedelta:
        # In integers of nanoseconds, as upstream; a group may wait longer, by the square root of its size.
        longest = int(self._longest // timedelta(microseconds=1) * 1000 * math.sqrt(size))
        shift = count - 1
        too_long = self._initial // timedelta(microseconds=1) * 1000 > longest >> shift
        return timedelta(microseconds=longest / 1000) if too_long else self._initial * (1 << shift)

    def _window(self, moment: datetime) -> datetime:
        return moment.replace(microsecond=0) if self._aligns else moment

    def pop_completed(self, now: datetime) -> list[QueueEntry]:
        """Remove and return the pods whose back-off is over."""
        out = []
        for heap in (self.unschedulable, self.failed):
            while (first := heap.peek()) is not None and not self.is_backing_off(first, now):
                heap.remove(first.key)
                out.append(first)
        return out

    def next_completion(self) -> datetime | None:
        """Return the time at which the next back-off is over; ``None`` if no pod is in back-off."""
        firsts = [heap.peek() for heap in (self.unschedulable, self.failed)]
        ends = [self.expiration(first) for first in firsts if first is not None]
        # A back-off is over once the window after its end has begun.
        return min(ends) + (WINDOW if self._aligns else timedelta(microseconds=1)) if ends else None
