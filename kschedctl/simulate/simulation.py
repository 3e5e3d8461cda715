"""The loop around scheduling cycles (upstream ``schedule_one.go``, ``eventhandlers.go``, ``preemption/executor.go``).

The consequences of a cycle come before the next one begins: the pod is bound, or it returns to the queue and its
victims are deleted. The queue receives all changes as events, in the order in which the API server would send them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.clock import VirtualClock
from kschedctl.framework.binding import run_bind, run_permit, run_pre_bind, run_reserve, run_unreserve
from kschedctl.framework.effects import ObjectChange, changed_objects
from kschedctl.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    same_pod,
)
from kschedctl.framework.status import Code, Status
from kschedctl.preemption.prepare_candidate import lower_priority_nominated_pods
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.batch import GATE, OpportunisticBatch
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.pods import on_node, pod_at, without_nomination
from kschedctl.simulate.queued_pod import QueuedPodInfo
from kschedctl.simulate.rejectors import rejector_plugins
from kschedctl.simulate.simulated_cluster import TICK, SimulatedCluster
from kschedctl.simulate.timeline import TimelineEvent
from kschedctl.simulate.world import World, running
from kschedctl.workloads.template import uid_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: The seconds after which a pod that no event has woken is retried: 5 minutes, and a flush period of 30 seconds.
_LEFTOVERS_AFTER: Final = 330.0
#: A pod that has evicted others this many times is given up: more evictions would not get it bound.
_MOST_PREEMPTIONS: Final = 25


class Simulation(SimulatedCluster):
    """A scheduler that runs on a cluster, in virtual time.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the initial cluster.
    clock : VirtualClock, optional
        The virtual clock; by default it starts at the time of the snapshot.
    choose : callable, optional
        The tie-breaking rule; by default the first node by name.
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
        world: World | None = None,
    ) -> None:
        super().__init__(scheduler, clock=clock, world=world)
        self.restless: set[str] = set()
        self._preemptions: Counter[str] = Counter()
        self._choose = choose
        #: The number of cluster changes (``changes``) when each pod was last tried.
        self._tried: dict[str, int] = {}
        self._batches: dict[str, OpportunisticBatch] = {}
        self._waiting: dict[str, tuple[QueuedPodInfo, Decision, str]] = {}

    def __iter__(self) -> Iterator[Attempt]:
        return self.run()

    def run(self) -> Iterator[Attempt]:
        """Try pods and let time pass until nothing more can happen."""
        while True:
            if self.queue.can_pop:
                attempt = self.step()
                if attempt is not None:
                    yield attempt
            elif not self.pass_time():
                return

    def run_for(self, seconds: float) -> Iterator[Attempt]:
        """Try pods and let time pass for a number of seconds, whether or not something happens."""
        end = self.clock.now() + seconds
        while True:
            if self.queue.can_pop:
                attempt = self.step()
                if attempt is not None:
                    yield attempt
                continue
            due = self._next_moment()
            if due is None or due > end:
                self.clock.run_until(max(end, self.clock.now()))
                if not self.queue.can_pop:
                    return
            else:
                self._pass_to(due)

    @property
    def is_idle(self) -> bool:
        """True if no pod can be tried and nothing is due."""
        return not self.queue.can_pop and self._next_moment() is None

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
            return self._flush_leftovers()
        self._pass_to(due)
        return True

    def _next_moment(self) -> float | None:
        """Return the time of the next event, by the virtual clock; ``None`` if there is none."""
        moments = [self.clock.next_at()]
        # A pod that fails with an error is retried without an event, without end; stop unless the cluster has changed.
        again = [key for key in self.queue.failed if self._tried.get(key) != self._changes]
        if again or self.queue.n_backoff > len(self.queue.failed):
            moments.append(_seconds(self.queue.next_due()))
        moments.append(self.scheduler.waiting_pods.next_due)
        return min((moment for moment in moments if moment is not None), default=None)

    def _pass_to(self, moment: float) -> None:
        self.clock.run_until(max(moment, self.clock.now()))
        self.queue.flush_backoff()
        self.scheduler.waiting_pods.due(self.clock.now())
        self._settle_waiting()

    def _flush_leftovers(self) -> bool:
        """Retry the pods that no event has woken although the cluster has changed; return whether there were any."""
        if not self._world.leftovers or not any(
            self._tried.get(info.key) != self._changes and not info.gating_plugin for info in self.queue.unschedulable
        ):
            return False
        self.clock.advance(_LEFTOVERS_AFTER)
        return self.queue.flush_unschedulable()

    def step(self) -> Attempt | None:
        """Try the next pod; return ``None`` if no pod can be tried."""
        self.clock.advance(TICK)
        info = self.queue.pop()
        if info is None:
            return None
        decision = self.scheduler.decide(info.pod)
        attempt = self._schedule(info, decision) if decision.best else self._fail(info, decision)
        self._tried[info.key] = self._changes
        self._settle_waiting()
        return attempt

    # Consequences of a cycle that found a node.

    def _schedule(self, info: QueuedPodInfo, decision: Decision) -> Attempt:
        node = self._pick(info, decision)
        framework, state = decision.framework, decision.state
        bound = on_node(info.pod, node)
        # Nothing reads the phase before the pod is bound; setting it here saves a second, equally costly cluster
        # change.
        self._move(self.cluster.with_pods(added=[running(bound) if self._world.kubelet else bound]))
        status = run_reserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            status, waits = run_permit(framework, state, bound, node)
            if status.code is Code.WAIT:
                self.scheduler.waiting_pods.add(bound, waits, self.clock.now())
                self._waiting[uid_of(bound)] = info, decision, node
                self._note(info.pod, TimelineEvent.WAITING, node, f"for {', '.join(waits)}")
                return self._attempt(info, decision, node=node, waits=True)
            if status.code is not Code.SUCCESS:
                run_unreserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            status = self._bind(info, decision, node)
        if status.code is Code.SUCCESS:
            return self._attempt(info, decision, node=node)
        return self._attempt(info, decision, message=self._forget(info, status))

    def _pick(self, info: QueuedPodInfo, decision: Decision) -> str:
        """Return the node for a pod: the one that the batch hints at, or one of the best nodes."""
        if not self.scheduler.release.enabled(GATE):
            return self._choose(info.pod, decision.best)
        batch = self._batches.setdefault(info.pod.spec.scheduler_name, OpportunisticBatch())
        hinted = ""
        nodes = batch.hint(decision, info.signature, self.queue.cycles, self.now())
        if nodes:
            hinted = self._choose(info.pod, nodes)
            batch.take(decision.framework, hinted)
        fits = hinted and decision.statuses is not None and not decision.statuses.code[self.cluster.nodes.row[hinted]]
        taken = hinted if fits and not info.pod.status.nominated_node_name else self._choose(info.pod, decision.best)
        batch.store(decision, info.signature, hinted, taken, self.queue.cycles, self.now())
        return taken

    def _bind(self, info: QueuedPodInfo, decision: Decision, node: str) -> Status:
        """Run the binding cycle from PreBind on; the pod already has its node in the simulated cluster."""
        self.queue.done(info)
        status = Status()
        for step in (run_pre_bind, run_bind):
            if status.code is Code.SUCCESS:
                status = step(decision.framework, decision.state, info.pod, node)
        if status.code is not Code.SUCCESS:
            run_unreserve(decision.framework, decision.state, info.pod, node)
            return status
        self._take_in(decision.state.effects)
        bound = on_node(info.pod, node)
        self._note(bound, TimelineEvent.SCHEDULED, node)
        self._changes += 1
        self._keep_budgets(bound, 1)
        self.queue.move_all(ASSIGNED_POD_ADD, None, bound)
        if info.pod.status.nominated_node_name and self.scheduler.release.queue.binding_ends_nomination:
            self._left_nominated_node(info.pod)
        return status

    def _take_in(self, effects: Iterable[ObjectChange]) -> None:
        """Apply the objects that plugins changed to the cluster, and send the events to the queue."""
        changes = list(effects)
        if not changes:
            return
        self._move(self.cluster.with_added(changed_objects(changes)))
        for change in changes:
            if change.event is not None:
                self.queue.move_all(change.event, change.old, change.new)

    def _settle_waiting(self) -> None:
        """Bind the pods that Permit plugins allowed, and put those that were rejected back into the queue."""
        while settled := self.scheduler.waiting_pods.settled():
            # Unreserve plugins of a rejected pod may settle other pods.
            for pod, status in settled:
                self._settle(pod, status)

    def _settle(self, pod: Pod, status: Status) -> None:
        info, decision, node = self._waiting.pop(uid_of(pod))
        if status.code is Code.SUCCESS:
            status = self._bind(info, decision, node)
        else:
            run_unreserve(decision.framework, decision.state, info.pod, node)
        if status.code is not Code.SUCCESS:
            self._note(info.pod, TimelineEvent.FAILED, node, self._forget(info, status))
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, partial(_is_other, pod))

    def _forget(self, info: QueuedPodInfo, status: Status) -> str:
        """Put a pod that could not be bound back into the queue; return the reason in the scheduler's words."""
        pod = without_nomination(info.pod)
        self._move(self.cluster.with_pods(added=[pod]))
        info.pod = pod
        info.unschedulable_plugins = {status.plugin} if status.code.rejected else set()
        info.pending_plugins = set()
        self.queue.add_unschedulable(info)
        if not status.code.rejected:
            return status.message
        return f"0/1 nodes are available: 1 {status.message}."

    # Consequences of a cycle that found no node.

    def _fail(self, info: QueuedPodInfo, decision: Decision) -> Attempt:
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
                return self._give_up(info, decision)
            self.scheduler.preempting.add(uid_of(info.pod))
        self.queue.add_unschedulable(info)
        if node or post_filter is None or post_filter.clears_nomination:
            self._nominate(info.pod, node)
        for pod in lower:
            self._nominate(pod, "")
        self._note(info.pod, TimelineEvent.FAILED, node, message)
        self._evict(info.pod, victims)
        return self._attempt(
            info,
            decision,
            message=message,
            nominated=node,
            victims=tuple(sorted(victim.key for victim in victims)),
        )

    def _give_up(self, info: QueuedPodInfo, decision: Decision) -> Attempt:
        """Remove a pod from the queue for good, without evicting its victims."""
        self.restless.add(info.key)
        self.queue.add_unschedulable(info)
        self.queue.delete(info.key)
        self._nominate(info.pod, "")
        message = f"{decision.message.rstrip('.')}; not retried: its victims are recreated before its next attempt"
        self._note(info.pod, TimelineEvent.FAILED, "", message)
        return self._attempt(info, decision, message=message)

    def _victims(self, decision: Decision, node: str) -> list[Pod]:
        """Return the pods to evict on the chosen node, the most important first."""
        preemption = decision.preemption
        if preemption is None or not node:
            return []
        pods = [pod_at(self.cluster, victim.pod) for victim in preemption.candidate(node).victims]
        if self.scheduler.release.queue.skips_terminating_victims:
            return [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        return pods

    def _lower_nominated(self, decision: Decision, node: str, victims: list[Pod]) -> list[Pod]:
        """Return the pods that lose their nomination to the chosen node."""
        if not node or (not victims and self.scheduler.release.queue.skips_terminating_victims):
            return []
        row = self.cluster.nodes.row[node]
        found = lower_priority_nominated_pods(self.cluster, decision.pod, row)
        return [pod_at(self.cluster, index) for index in found.tolist()]

    def _nominate(self, pod: Pod, node: str) -> None:
        """Set a pod's nominated node, or clear it with an empty name, and notify the queue."""
        before = pod.status.nominated_node_name
        if before == node:
            return
        changed = replace(pod, status=replace(pod.status, nominated_node_name=node))
        self._move(self.cluster.with_pods(added=[changed]))
        self.queue.update(pod, changed)
        if before:
            self._left_nominated_node(pod)

    def _left_nominated_node(self, pod: Pod) -> None:
        """Notify pods of lower or equal priority that a pod has left the node it was nominated to."""
        priority = pod.spec.priority or 0
        self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: (other.spec.priority or 0) <= priority)

    def _evict(self, preemptor: Pod, victims: list[Pod]) -> None:
        """Delete the victims: deletion is requested for all at once, and each is gone after its grace period."""
        for victim in victims:
            self._note(victim, TimelineEvent.PREEMPTED, victim.spec.node_name, f"by {preemptor.key}")
        if self._world.grace:
            self.scheduler.preempting.discard(uid_of(preemptor))
            for victim in victims:
                self.delete(victim, preempted=True)
            return
        for i, victim in enumerate(victims):
            # Without grace periods the first victim is gone before the last is requested; only the last lets the
            # preemptor in.
            if i == len(victims) - 1:
                self.scheduler.preempting.discard(uid_of(preemptor))
            self.delete(victim, preempted=True)

    def _attempt(
        self,
        info: QueuedPodInfo,
        decision: Decision,
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
            decision=decision,
            node=node,
            waits=waits,
            message=message,
            nominated=nominated,
            victims=victims,
        )


def _seconds(moment: datetime | None) -> float | None:
    return (moment - _EPOCH).total_seconds() if moment is not None else None


def _is_other(pod: Pod, other: Pod) -> bool:
    return not same_pod(pod, other)
