"""The loop around scheduling cycles (upstream ``schedule_one.go``, ``eventhandlers.go``, ``preemption/executor.go``).

The consequences of a cycle come before the next one begins: the pod is bound, or it returns to the queue and its
victims are deleted. The queue receives all changes as events, in the order in which the API server would send them.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil
from typing import Final

from kschedctl.common.clock import VirtualClock
from kschedctl.common.frames import ShownInNotebooks
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.alike_pods import AlikePods, KindsOfPods, RankedDecision, RejectedDecision, Rejection
from kschedctl.trials.simulate.attempts import Attempt, ChooseInGroup, PodGroupAttempts
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.queued_pods import QueuedPodGroupInfo, QueuedPodInfo, QueueEntry, group_key
from kschedctl.trials.simulate.scheduling_queue import rejector_plugins
from kschedctl.trials.simulate.simulated_cluster import TICK
from kschedctl.trials.simulate.timeline import TimelineEvent, TimelineTable
from kschedctl.trials.simulate.world import World

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: The seconds after which a pod that no event has woken is retried: 5 minutes, and a flush period of 30 seconds.
_LEFTOVERS_AFTER: Final = 330.0
#: A pod that has evicted others this many times is given up: more evictions would not get it bound.
_MOST_PREEMPTIONS: Final = 25


class Simulation(PodGroupAttempts, TimelineTable, ShownInNotebooks):
    """A scheduler that runs on a cluster, in virtual time.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the initial cluster.
    clock : VirtualClock, optional
        The virtual clock; by default it starts at the time of the snapshot.
    choose : callable, optional
        The tie-breaking rule; by default the first node by name.
    choose_in_group : callable, optional
        The tie-breaking rule within pod groups; by default ``choose``.
    world : World, optional
        The parts of the cluster that act besides the scheduler; by default everything that is modelled.

    Attributes
    ----------
    restless : set of str
        The pods that were given up, ``namespace/name``: after 25 preemptions their victims' replacements still come
        before their turn. A real cluster repeats this without end.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        clock: VirtualClock | None = None,
        choose: Choose = first_by_name,
        choose_in_group: ChooseInGroup | None = None,
        world: World | None = None,
    ) -> None:
        super().__init__(scheduler, clock=clock, choose=choose, choose_in_group=choose_in_group, world=world)
        self.restless: set[str] = set()
        self._preemptions: Counter[str] = Counter()
        #: The number of cluster changes (``changes``) when each pod was last tried.
        self._tried: dict[str, int] = {}
        self._alike = KindsOfPods()
        self._rejection: Rejection | None = None

    def __iter__(self) -> Iterator[Attempt]:
        return self.run()

    def run(self) -> Iterator[Attempt]:
        """Try pods and let time pass until nothing more can happen."""
        while True:
            if self.can_try:
                yield from self.step()
            elif not self.pass_time():
                return

    def run_for(self, seconds: float) -> Iterator[Attempt]:
        """Try pods and let time pass for a number of seconds, whether or not something happens."""
        end = self.clock.now() + seconds
        while True:
            if self.can_try:
                yield from self.step()
                continue
            due = self._next_moment()
            if due is None or due > end:
                self.clock.run_until(max(end, self.clock.now()))
                if not self.can_try:
                    return
            else:
                self._pass_to(due)

    def periods(self, seconds: float) -> int:
        """Return the number of periods, at least 1, until the end of the one in which something happens next."""
        due = self._next_moment()
        return 1 if due is None or self.can_try else max(1, ceil((due - self.clock.now()) / seconds))

    @property
    def is_idle(self) -> bool:
        """True if no pod can be tried and nothing is due."""
        return not self.can_try and self._next_moment() is None

    @property
    def can_try(self) -> bool:
        """True if a pod or a group can be tried.

        A group that failed is retried without an event, without end; it counts only once the cluster has changed. A
        group in back-off after an error counts once its back-off is over, for which time has to pass.
        """
        if not self.queue.can_pop:
            return False
        return self.scheduler.release.pod_groups is None or any(
            not self._is_group(entry) or self._tried.get(self.name(entry)) != self._changes
            for entry in self.queue.poppable
        )

    def name(self, entry: QueueEntry) -> str:
        """Return the name under which attempts are counted: that of the group, for its members too."""
        if isinstance(entry, QueuedPodGroupInfo) or not self._is_group(entry):
            return entry.key
        return group_key(entry.pod)

    @property
    def has_unbound_pods(self) -> bool:
        """True if a pod is in the queue or waits for a Permit plugin."""
        queue = self.queue
        return bool(self._waiting or queue.n_active or queue.n_backoff or queue.unschedulable)

    @property
    def changes(self) -> int:
        """The number of changes so far that could let a pod in: pods bound or deleted, nodes added or changed."""
        return self._changes

    def pass_time(self) -> bool:
        """Let time pass until something happens; return false if nothing more can happen."""
        due = self._next_moment()
        if due is None:
            if not self._world.leftovers or not any(
                self._tried.get(info.key) != self._changes and not info.gating_plugin
                for info in self.queue.unschedulable
            ):
                return False
            self.clock.advance(_LEFTOVERS_AFTER)
            return self.queue.flush_unschedulable()
        self._pass_to(due)
        return True

    def pass_second(self) -> None:
        """Let a second pass, after which completed back-off ends."""
        self._pass_to(self.clock.now() + 1)

    def _next_moment(self) -> float | None:
        """Return the time of the next event, by the virtual clock; ``None`` if there is none."""
        moments = [self.clock.next_at()]
        # A pod that fails with an error is retried without an event, without end; stop unless the cluster has changed.
        again = [entry for entry in self.queue.failed if self._tried.get(self.name(entry)) != self._changes]
        if again or self.queue.n_backoff > len(self.queue.failed):
            moments.append(_seconds(self.queue.next_due()))
        moments.append(self._waiting_pods.next_due)
        return min((moment for moment in moments if moment is not None), default=None)

    def _pass_to(self, moment: float) -> None:
        self.clock.run_until(max(moment, self.clock.now()))
        self.queue.flush_backoff()
        self._waiting_pods.due(self.clock.now())
        self._settle_waiting()

    def step(self) -> tuple[Attempt, ...]:
        """Try the next pod or group; return the attempts: one per member of a group, none if nothing can be tried."""
        second = self.now().replace(microsecond=0)
        self.clock.advance(TICK)
        if self.now().replace(microsecond=0) != second:
            # kube-scheduler looks for completed back-off once a second.
            self.queue.flush_backoff()
        entry = self.queue.pop()
        if entry is None:
            return ()
        name = self.name(entry)
        if self._is_group(entry):
            attempts = self._try_group(entry)
        else:
            assert isinstance(entry, QueuedPodInfo)
            attempts = (self._try(entry),)
        self._tried[name] = self._changes
        self._settle_waiting()
        return attempts

    def _try(self, info: QueuedPodInfo) -> Attempt:
        alike = self._alike.of(info.pod)
        search = alike.search(self.scheduler, info.pod) if alike is not None else None
        if alike is not None and search is not None:
            return self._schedule(info, search, alike)
        rejection = self._rejection
        rejected = rejection.of_alike(self.scheduler, info.pod) if rejection is not None else None
        if rejection is not None and rejected is not None:
            info.unschedulable_plugins, info.pending_plugins = map(set, rejection.plugins)
            self.queue.add_unschedulable(info)
            self._note(info.pod, TimelineEvent.FAILED, "", rejection.decision.message)
            return self._attempt(info, rejected, message=rejection.decision.message)
        decision = self.scheduler.decide(info.pod)
        if not decision.best:
            info.unschedulable_plugins, info.pending_plugins = rejector_plugins(decision)
            post_filter = decision.post_filter
            nodes = post_filter.nominated if post_filter is not None else ()
            node = self._choose(info.pod, nodes) if nodes else ""
            message = decision.error or decision.message
            preemption = decision.preemption
            if node and preemption is not None:
                message = message.replace(preemption.placement(nodes[0]), preemption.placement(node))
            victims = self._victims(decision, node)
            lower = self._lower_nominated(decision, node, victims)
            if victims:
                self._preemptions[info.key] += 1
                if self._preemptions[info.key] > _MOST_PREEMPTIONS:
                    self.restless.add(info.key)
                    self.queue.add_unschedulable(info)
                    self.queue.delete(info.pod)
                    self._nominate(info.pod, "")
                    told = decision.message.rstrip(".")
                    message = f"{told}; not retried: its victims are recreated before its next attempt"
                    self._note(info.pod, TimelineEvent.FAILED, "", message)
                    return self._attempt(info, decision, message=message)
                self.scheduler.preempting.add(uid_of(info.pod))
            self.queue.add_unschedulable(info)
            if node or post_filter is None or post_filter.clears_nomination:
                self._nominate(info.pod, node)
            for pod in lower:
                self._nominate(pod, "")
            self._note(info.pod, TimelineEvent.FAILED, node, message)
            self._evict(info.pod, victims)
            plugins = info.unschedulable_plugins, info.pending_plugins
            self._rejection = None if node or victims else Rejection.of(self.scheduler, decision, plugins)
            return self._attempt(
                info, decision, message=message, nominated=node, victims=tuple(sorted(victim.key for victim in victims))
            )
        if alike is None or not alike.needs_cycles:
            alike = self._alike.begin(decision)
        return self._schedule(info, decision, alike)

    def _schedule(self, info: QueuedPodInfo, search: Decision | RankedDecision, alike: AlikePods) -> Attempt:
        node = self._pick(info, search, self._choose)
        message, waits = self._place(info, search, node)
        if not message and not waits:
            alike.bound(node, self.scheduler)
        return self._attempt(info, search, node="" if message else node, waits=waits, message=message)

    def _attempt(
        self,
        info: QueuedPodInfo,
        search: Decision | RankedDecision | RejectedDecision,
        *,
        node: str = "",
        waits: bool = False,
        message: str = "",
        nominated: str = "",
        victims: tuple[str, ...] = (),
    ) -> Attempt:
        return Attempt(
            time=self.now(),
            pod=info.key,
            number=info.attempts,
            search=search,
            node=node,
            waits=waits,
            message=message,
            nominated=nominated,
            victims=victims,
        )


def _seconds(moment: datetime | None) -> float | None:
    return (moment - _EPOCH).total_seconds() if moment is not None else None
