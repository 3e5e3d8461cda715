"""backoffQ: pods that failed wait a while before they are tried again (upstream ``backend/queue/backoff_queue.go``).

The wait doubles with every failure, from the initial to the maximal back-off. It ends at full seconds where pods may be
taken out early (the gate SchedulerPopFromBackoffQ): pods of one second are in the order of the active queue.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kschedctl.simulate.pod_heap import PodHeap
from kschedctl.simulate.queued_pod import QueuedPodInfo

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
#: Back-off ends in this step.
WINDOW: Final = timedelta(seconds=1)


class BackoffQueue:
    """Pods in back-off; those that failed with an error on their own.

    Parameters
    ----------
    initial, longest : timedelta
        ``podInitialBackoffSeconds`` and ``podMaxBackoffSeconds`` of the configuration.
    active_key : callable
        The order of the active queue.
    pops_early : bool
        The gate SchedulerPopFromBackoffQ.
    """

    def __init__(
        self,
        initial: timedelta,
        longest: timedelta,
        active_key: Callable[[QueuedPodInfo], Any],
        *,
        pops_early: bool,
    ) -> None:
        self._initial = initial
        self._longest = longest
        self._aligns = pops_early
        by_time: Callable[[QueuedPodInfo], Any] = self.expiration
        self.unschedulable = PodHeap(lambda info: (by_time(info), active_key(info)) if pops_early else by_time(info))
        self.failed = PodHeap(by_time)

    def __len__(self) -> int:
        return len(self.unschedulable) + len(self.failed)

    def __contains__(self, key: str) -> bool:
        return key in self.unschedulable or key in self.failed

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod of a ``namespace/name``."""
        return self.unschedulable.get(key) or self.failed.get(key)

    def add(self, info: QueuedPodInfo) -> None:
        """Take a pod in."""
        heap, other = (self.unschedulable, self.failed) if info.rejectors else (self.failed, self.unschedulable)
        heap.push(info)
        other.remove(info.key)

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take a pod out; ``None`` where it is not in."""
        return self.unschedulable.remove(key) or self.failed.remove(key)

    def is_backing_off(self, info: QueuedPodInfo, now: datetime) -> bool:
        """Whether a pod has to wait still."""
        return self.expiration(info) >= self._window(now)

    def expiration(self, info: QueuedPodInfo) -> datetime:
        """When the back-off of a pod ends; long ago for one that has not failed."""
        count = info.consecutive_errors or info.unschedulable_count
        if not self._longest or not count:
            return _LONG_AGO
        if info.backoff_expiration is None:
            info.backoff_expiration = self._window(info.timestamp + self._duration(count))
        return info.backoff_expiration

    def _duration(self, count: int) -> timedelta:
        longest = self._longest // timedelta(microseconds=1)
        shift = count - 1
        too_long = self._initial // timedelta(microseconds=1) > longest >> shift
        return self._longest if too_long else self._initial * (1 << shift)

    def _window(self, moment: datetime) -> datetime:
        return moment.replace(microsecond=0) if self._aligns else moment

    def pop_completed(self, now: datetime) -> list[QueuedPodInfo]:
        """Take out the pods whose back-off is over."""
        out = []
        for heap in (self.unschedulable, self.failed):
            while (first := heap.peek()) is not None and not self.is_backing_off(first, now):
                heap.remove(first.key)
                out.append(first)
        return out

    def next_completion(self) -> datetime | None:
        """When the next pod has waited long enough; ``None`` where none waits."""
        firsts = [heap.peek() for heap in (self.unschedulable, self.failed)]
        ends = [self.expiration(first) for first in firsts if first is not None]
        # A back-off is over once the window after its end has begun.
        return min(ends) + (WINDOW if self._aligns else timedelta(microseconds=1)) if ends else None
