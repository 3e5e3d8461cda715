"""The scheduling queue (upstream ``backend/queue/scheduling_queue.go``): active, back-off and unschedulable pods.

A new pod is active unless a PreEnqueue plugin gates it; gated pods are in the unschedulable pool. A pod that plugins
rejected goes to the unschedulable pool. It leaves the pool after 5 minutes, or at an event that one of these plugins
registered and whose hint does not rule it out. It is then in back-off, or active if the back-off is over or the plugin
returned Pending. A pod that failed with an error goes to back-off at once.
"""

import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

import msgspec

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import RequestRules
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.events import (
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    pod_changes,
    same_pod,
)
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import PreEnqueuePlugin, QueueSortPlugin
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.queued_pods import PodHeap, QueuedPodInfo, QueueEntry

# backoffQ: pods that failed wait before they are retried (upstream ``backend/queue/backoff_queue.go``).
#
# The back-off doubles with every failure, from the initial to the maximum back-off. If pods may be popped early (gate
# SchedulerPopFromBackoffQ), back-off ends at full seconds, and pods of the same second are in active-queue order.

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
#: The step to which ends of back-off are aligned.
WINDOW: Final = timedelta(seconds=1)


class BackoffQueue:
    """The pods in back-off; those that failed with an error are in a separate heap.

    Args:
        initial, longest: ``podInitialBackoffSeconds`` and ``podMaxBackoffSeconds`` of the configuration.
        pops_early: True if the gate SchedulerPopFromBackoffQ is enabled.
    """

    def __init__(
        self, initial: timedelta, longest: timedelta, active_key: Callable[[QueueEntry], Any], *, pops_early: bool
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
            # In integers of nanoseconds, as upstream; a group may wait longer, by the square root of its size.
            longest = int(self._longest // timedelta(microseconds=1) * 1000 * math.sqrt(info.size))
            shift = count - 1
            too_long = self._initial // timedelta(microseconds=1) * 1000 > longest >> shift
            info.backoff_expiration = self._window(
                info.timestamp + (timedelta(microseconds=longest / 1000) if too_long else self._initial * (1 << shift))
            )
        return info.backoff_expiration

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


POP_FROM_BACKOFF: Final = "SchedulerPopFromBackoffQ"
#: The longest time that a pod stays in the unschedulable pool (``DefaultPodMaxInUnschedulablePodsDuration``).
LONGEST_UNSCHEDULABLE: Final = timedelta(minutes=5)


_Hints = dict[str, list[tuple[str, ClusterEventWithHint]]]


class _Strategy(Enum):
    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class _Happened(msgspec.Struct, frozen=True):
    """An event that came while pods were being tried."""

    event: ClusterEvent
    old: ApiObject | None
    new: ApiObject | None


class SchedulingQueue:
    """The queue of one scheduler.

    scheduler: The same scheduler over the current cluster; the owner sets it when the cluster changes.
    cycles: The number of pods popped so far.

    Args:
        scheduler: The scheduler; its profiles determine the events that a pod waits for.
        now: Returns the current time.
    """

    def __init__(self, scheduler: Scheduler, now: Callable[[], datetime]) -> None:
        self.scheduler = scheduler
        self.cycles = 0
        self._now = now
        settings = scheduler.configuration.settings
        self._pops_early = scheduler.release.enabled(POP_FROM_BACKOFF)
        first = scheduler.framework(next(iter(scheduler.configuration.profiles)))
        self._sorter = first.plugins(ExtensionPoint.QUEUE_SORT, QueueSortPlugin)[0]
        self._active = PodHeap(self._active_key)
        self._backoff = BackoffQueue(
            timedelta(seconds=settings.pod_initial_backoff_seconds),
            timedelta(seconds=settings.pod_max_backoff_seconds),
            self._active_key,
            pops_early=self._pops_early,
        )
        self._unschedulable: dict[str, QueueEntry] = {}
        self._n_arrived = 0
        #: The pods being tried, with the length of ``_happened`` when they were popped.
        self._in_flight: dict[str, int] = {}
        self._happened: list[_Happened] = []

    def _active_key(self, info: QueueEntry) -> Any:
        return self._sorter.sort_key(info.sorted_as, info.timestamp)

    @property
    def n_active(self) -> int:
        """The number of pods in the active queue."""
        return len(self._active)

    @property
    def n_backoff(self) -> int:
        """The number of pods in back-off."""
        return len(self._backoff)

    @property
    def has_waiting(self) -> bool:
        """True if any entry is unschedulable or in back-off."""
        return bool(self._unschedulable or len(self._backoff))

    @property
    def can_pop(self) -> bool:
        """True if a pod can be popped."""
        return bool(len(self._active) or (self._pops_early and len(self._backoff.unschedulable)))

    @property
    def poppable(self) -> tuple[QueueEntry, ...]:
        """The entries that ``pop`` can return now, in no particular order."""
        return (*self._active, *(self._backoff.unschedulable if self._pops_early else ()))

    @property
    def unschedulable(self) -> tuple[QueueEntry, ...]:
        """The entries in the unschedulable pool, gated ones included."""
        return tuple(self._unschedulable.values())

    @property
    def retried(self) -> tuple[QueueEntry, ...]:
        """The entries that are tried again without an event: active, or in back-off."""
        return (*self._active, *self._backoff.unschedulable, *self._backoff.failed)

    @property
    def failed(self) -> tuple[QueueEntry, ...]:
        """The entries in back-off after an error."""
        return tuple(self._backoff.failed)

    def next_due(self) -> datetime | None:
        """Return the end of the next back-off; ``None`` if no pod is in back-off."""
        return self._backoff.next_completion()

    def add(self, pod: Pod) -> QueuedPodInfo:
        """Add a new pod."""
        info = self._new(pod)
        self._move_to_active(info)
        return info

    def _new(self, pod: Pod) -> QueuedPodInfo:
        self._n_arrived += 1
        return QueuedPodInfo(pod, timestamp=self._now(), number=self._n_arrived)

    def pop(self) -> QueueEntry | None:
        """Remove and return the next active entry; return ``None`` if there is none.

        If none is active and SchedulerPopFromBackoffQ is enabled, take the first entry in back-off that failed without
        an error.
        """
        info = self._active.pop()
        if info is None and self._pops_early:
            info = self._backoff.unschedulable.pop()
        if info is not None:
            self._try(info)
        return info

    def pop_specific(self, key: str) -> QueuedPodInfo | None:
        """Remove and return a pod out of its turn; return ``None`` if it is not in the queue or remains gated."""
        self.activate(key)
        info = self._active.remove(key)
        if not isinstance(info, QueuedPodInfo):
            return None
        self._try(info)
        return info

    def _try(self, info: QueueEntry) -> None:
        self.cycles += 1
        info.attempts += 1
        for member in info.members:
            if member is not info:
                member.attempts += 1
            self._in_flight[member.key] = len(self._happened)

    def done(self, info: QueuedPodInfo) -> None:
        """End the attempt of a pod; with the last one, the recorded events are dropped."""
        self._in_flight.pop(info.key, None)
        if not self._in_flight:
            self._happened.clear()

    def add_unschedulable(self, info: QueuedPodInfo) -> None:
        """Put a pod back into the queue after a failed attempt.

        ``info.unschedulable_plugins`` and ``info.pending_plugins`` name the plugins that rejected the pod; both are
        empty after an error.
        """
        if info.rejectors:
            info.unschedulable_count += 1
            info.consecutive_errors = 0
        else:
            info.consecutive_errors += 1
        info.timestamp = self._now()
        info.backoff_expiration = None
        self._return(info)

    def _return(self, info: QueuedPodInfo) -> None:
        # Members of a group are retried after their back-off, whatever happened meanwhile.
        waits = not info.rejectors or (info.pod.spec.pod_group_name and self.scheduler.release.pod_groups is not None)
        best = _Strategy.AFTER_BACKOFF if waits else _Strategy.SKIP
        for each in () if waits else self._happened[self._in_flight.get(info.key, 0) :]:
            strategy = self._worth_requeuing(
                info,
                self._framework(info.pod.spec.scheduler_name).hints_for(each.event),
                each.event,
                each.old,
                each.new,
            )
            best = max(best, strategy, key=lambda one: one.value)
            if best is _Strategy.IMMEDIATELY:
                break
        self._requeue(info, best)
        self.done(info)

    def update(self, old: Pod, new: Pod) -> None:
        """Record the change of a pod in the queue."""
        key = new.key
        queue = self.scheduler.release.queue
        events = list(
            pod_changes(
                old,
                new,
                (EventResource.UNSCHEDULED_POD if queue.unscheduled_pods_wake else EventResource.TARGET_POD),
                RequestRules.of(self.scheduler.release),
            )
        )
        if key in self._in_flight:
            self._happened += [_Happened(event, old, new) for event in events]
            return
        found = self._find(new)
        if found is None:
            self.add(new)
            return
        entry, member = found
        member.pod = new
        for event in events:
            if entry.key not in self._unschedulable:
                return
            self._requeue(entry, self._entry_worth_requeuing(entry, event, old, new))

    def _find(self, pod: Pod) -> tuple[QueueEntry, QueuedPodInfo] | None:
        info = self._active.get(pod.key) or self._backoff.get(pod.key) or self._unschedulable.get(pod.key)
        return (info, info) if isinstance(info, QueuedPodInfo) else None

    def delete(self, pod: Pod) -> None:
        """Remove a pod that is deleted or bound."""
        self._take_out(pod.key)

    def _take_out(self, key: str) -> tuple[QueueEntry | None, _Strategy]:
        """Remove an entry, and return it with the strategy that would put it back where it was."""
        info = self._active.remove(key)
        if info is not None:
            return info, _Strategy.IMMEDIATELY
        info = self._backoff.remove(key)
        if info is not None:
            return info, _Strategy.AFTER_BACKOFF
        return self._unschedulable.pop(key, None), _Strategy.SKIP

    def activate(self, key: str) -> bool:
        """Make an entry active; return false if it is neither unschedulable nor in back-off, or remains gated."""
        info = self._unschedulable.get(key)
        from_backoff = info is None
        if info is None:
            info = self._backoff.remove(key)
        return info is not None and self._move_to_active(info, from_backoff=from_backoff)

    def move_all(
        self,
        event: ClusterEvent,
        old: ApiObject | None,
        new: ApiObject | None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Requeue the unschedulable pods that an event may help (``MoveAllToActiveOrBackoffQueue``).

        Args:
            old, new: The object before and after the event; ``None`` if it did not exist.
            pre_check: Selects the pods that the event is for; by default all.
        """
        frameworks = map(self._framework, self.scheduler.configuration.profiles)
        if self._unschedulable and (event.is_wild_card or any(framework.hints_for(event) for framework in frameworks)):
            waiting = [
                info
                for info in self.unschedulable
                if pre_check is None or any(pre_check(member.pod) for member in info.members)
            ]
            self._move(waiting, event, old, new)
        if self._in_flight:
            self._happened.append(_Happened(event, old, new))

    def flush_backoff(self) -> None:
        """Make the pods active whose back-off is over."""
        for info in self._backoff.pop_completed(self._now()):
            self._move_to_active(info, from_backoff=True)

    def flush_unschedulable(self) -> bool:
        """Requeue the pods that have been unschedulable for more than 5 minutes; return false if there are none."""
        now = self._now()
        late = [info for info in self.unschedulable if now - info.timestamp > LONGEST_UNSCHEDULABLE]
        self._move(late, UNSCHEDULABLE_TIMEOUT, None, None)
        return bool(late)

    def _move(
        self, infos: Iterable[QueueEntry], event: ClusterEvent, old: ApiObject | None, new: ApiObject | None
    ) -> None:
        # All pods of a profile share the hints that are registered for an event.
        hints: _Hints = {}
        for info in infos:
            if info.gating_plugin:
                registered = self._framework(info.sorted_as.spec.scheduler_name).hints_for(event)
                if not any(name == info.gating_plugin for name, _ in registered):
                    continue
            strategy = self._entry_worth_requeuing(info, event, old, new, hints)
            if strategy is not _Strategy.SKIP:
                self._unschedulable.pop(info.key, None)
                self._requeue(info, strategy)

    def _entry_worth_requeuing(
        self,
        entry: QueueEntry,
        event: ClusterEvent,
        old: ApiObject | None,
        new: ApiObject | None,
        hints: _Hints | None = None,
    ) -> _Strategy:
        """Return the best strategy of the members of an entry."""
        known: _Hints = {} if hints is None else hints
        best = _Strategy.SKIP
        for info in entry.members:
            profile = info.pod.spec.scheduler_name
            if profile not in known:
                known[profile] = self._framework(profile).hints_for(event)
            strategy = self._worth_requeuing(info, known[profile], event, old, new)
            best = max(best, strategy, key=lambda each: each.value)
        return best

    def _framework(self, scheduler_name: str) -> Framework:
        return self.scheduler.framework(scheduler_name)

    def _worth_requeuing(
        self,
        info: QueuedPodInfo,
        hints: Iterable[tuple[str, ClusterEventWithHint]],
        event: ClusterEvent,
        old: ApiObject | None,
        new: ApiObject | None,
    ) -> _Strategy:
        """Return the strategy for requeuing a pod after an event (upstream ``isPodWorthRequeuing``).

        Only hints of plugins that rejected the pod count.
        """
        rejectors = info.rejectors
        if not rejectors:
            return _Strategy.AFTER_BACKOFF
        if event.is_wild_card:
            other = new is not None and not (isinstance(new, Pod) and same_pod(new, info.pod))
            return _Strategy.SKIP if other else _Strategy.AFTER_BACKOFF
        best = _Strategy.SKIP
        for name, each in hints:
            if name not in rejectors or not each.helps(info.pod, old, new):
                continue
            if name in info.pending_plugins:
                return _Strategy.IMMEDIATELY
            if not info.pending_plugins:
                return _Strategy.AFTER_BACKOFF
            best = _Strategy.AFTER_BACKOFF
        return best

    def _requeue(self, info: QueueEntry, strategy: _Strategy) -> None:
        if strategy is _Strategy.SKIP:
            self._unschedulable[info.key] = info
        elif strategy is _Strategy.AFTER_BACKOFF and self._backoff.is_backing_off(info, self._now()):
            self._move_to_backoff(info)
        else:
            self._move_to_active(info)

    def _move_to_active(self, info: QueueEntry, *, from_backoff: bool = False) -> bool:
        if not (from_backoff and self._pops_early):
            self._run_pre_enqueue(info)
        if info.gating_plugin:
            if info.key not in self._active and info.key not in self._backoff:
                self._unschedulable[info.key] = info
            return False
        self._unschedulable.pop(info.key, None)
        self._backoff.remove(info.key)
        self._active.push(info)
        return True

    def _move_to_backoff(self, info: QueueEntry) -> None:
        if self._pops_early:
            self._run_pre_enqueue(info)
            if info.gating_plugin:
                self._unschedulable[info.key] = info
                return
        self._unschedulable.pop(info.key, None)
        self._backoff.add(info)

    def _run_pre_enqueue(self, entry: QueueEntry) -> None:
        gating = ""
        for info in entry.members:
            framework = self._framework(info.pod.spec.scheduler_name)
            plugins = framework.plugins(ExtensionPoint.PRE_ENQUEUE, PreEnqueuePlugin)
            # The plugin that gated the pod runs first.
            ordered = sorted(plugins, key=lambda plugin: plugin.name != info.gating_plugin)
            gates = (plugin.name for plugin in ordered if plugin.pre_enqueue(info.pod).code is not Code.SUCCESS)
            info.gating_plugin = next(gates, "")
            if info.gating_plugin:
                info.unschedulable_plugins.add(info.gating_plugin)
            # A gated member holds back its whole group.
            gating = info.gating_plugin or gating
        entry.gating_plugin = gating


# The plugins that rejected a pod; it waits for their events (upstream ``Diagnosis.UnschedulablePlugins``).


def rejector_plugins(decision: Decision) -> tuple[set[str], set[str]]:
    """Return the plugins that rejected a pod.

    Returns: The plugins that rejected the pod; ``pending`` are those that returned the status Pending because they
        wait for an event, ``unschedulable`` all others. Both sets are empty after an error.
    """
    outcome = decision.pre_filter
    if decision.error or outcome is None:
        return set(), set()
    unschedulable, pending = set(outcome.plugins), set()
    if outcome.status.code is not Code.SUCCESS:
        if outcome.status.plugin:
            unschedulable.add(outcome.status.plugin)
            if outcome.status.code is Code.PENDING:
                pending.add(outcome.status.plugin)
    elif decision.statuses is not None:
        for run, worlds in decision.statuses.runs:
            unschedulable |= {run.plugins[i] for i in run.deciding_filters(worlds)}
            pending |= {run.plugins[i] for i in run.deciding_filters(worlds & (run.code == Code.PENDING))}
        unschedulable |= {each.status.plugin for each in decision.statuses.extender_verdicts.values()}
    return unschedulable - pending, pending
