"""The loop around scheduling cycles (upstream ``schedule_one.go``, ``eventhandlers.go``, ``preemption/executor.go``).

A cycle is followed by what it leads to before the next one begins: the pod is bound, or goes back to the queue and its
victims go. What happens is told to the queue as events, in the order in which the API server would tell it.
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
from kschedctl.simulate.timeline import Happening
from kschedctl.simulate.world import World, running
from kschedctl.workloads.template import uid_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: After so many seconds a pod is tried again that nothing has woken.
_LEFTOVERS_AFTER: Final = 330.0
#: A pod that has evicted others so often does not come to an end by doing it once more.
_MOST_PREEMPTIONS: Final = 25


class Simulation(SimulatedCluster):
    """A scheduler at work on a cluster, in virtual time.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster as it is at first.
    clock : VirtualClock, optional
        The time; by default from the moment of the snapshot on.
    choose : callable, optional
        Settles chance; by default the first node by name.
    world : World, optional
        What acts besides the scheduler; by default everything that is modelled.

    Attributes
    ----------
    restless : set of str
        The pods that were given up, ``namespace/name``: whom they evict comes back before they have their turn, again
        and again. In a cluster that goes on for ever.
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
        #: As of which change of the cluster each pod was tried.
        self._tried: dict[str, int] = {}
        self._batches: dict[str, OpportunisticBatch] = {}
        self._waiting: dict[str, tuple[QueuedPodInfo, Decision, str]] = {}

    def __iter__(self) -> Iterator[Attempt]:
        return self.run()

    def run(self) -> Iterator[Attempt]:
        """Try pods, and let time pass, until nothing more can come of it."""
        while True:
            if self.queue.can_pop:
                attempt = self.step()
                if attempt is not None:
                    yield attempt
            elif not self.pass_time():
                return

    def run_for(self, seconds: float) -> Iterator[Attempt]:
        """Try pods and let time pass for so long, whether something happens or not."""
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
        """Whether nothing more comes by itself."""
        return not self.queue.can_pop and self._next_moment() is None

    @property
    def changes(self) -> int:
        """How often a pod was bound or went so far."""
        return self._changes

    def pass_time(self) -> bool:
        """Let time pass until something happens; false where nothing more can come of it."""
        due = self._next_moment()
        if due is None:
            return self._flush_leftovers()
        self._pass_to(due)
        return True

    def _next_moment(self) -> float | None:
        """When something happens next; ``None`` where nothing does."""
        moments = [self.clock.next_at()]
        # A pod that fails with an error comes back by itself; there is no end to that unless something changes.
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
        """Try the pods once more that nothing has woken although the cluster changed."""
        if not self._world.leftovers or not any(
            self._tried.get(info.key) != self._changes and not info.gating_plugin for info in self.queue.unschedulable
        ):
            return False
        self.clock.advance(_LEFTOVERS_AFTER)
        return self.queue.flush_unschedulable()

    def step(self) -> Attempt | None:
        """Try the next pod; ``None`` where none can be tried now."""
        self.clock.advance(TICK)
        info = self.queue.pop()
        if info is None:
            return None
        decision = self.scheduler.decide(info.pod)
        attempt = self._schedule(info, decision) if decision.best else self._fail(info, decision)
        self._tried[info.key] = self._changes
        self._settle_waiting()
        return attempt

    # What follows a cycle that found a node.

    def _schedule(self, info: QueuedPodInfo, decision: Decision) -> Attempt:
        node = self._pick(info, decision)
        framework, state = decision.framework, decision.state
        bound = on_node(info.pod, node)
        # Until it is bound nobody asks; a second change of the cluster for the kubelet's word would cost as much again.
        self._move(self.cluster.with_pods(added=[running(bound) if self._world.kubelet else bound]))
        status = run_reserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            status, waits = run_permit(framework, state, bound, node)
            if status.code is Code.WAIT:
                self.scheduler.waiting_pods.add(bound, waits, self.clock.now())
                self._waiting[uid_of(bound)] = info, decision, node
                self._note(info.pod, Happening.WAITING, node, f"for {', '.join(waits)}")
                return self._attempt(info, decision, node=node, waits=True)
            if status.code is not Code.SUCCESS:
                run_unreserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            status = self._bind(info, decision, node)
        if status.code is Code.SUCCESS:
            return self._attempt(info, decision, node=node)
        return self._attempt(info, decision, message=self._forget(info, status))

    def _pick(self, info: QueuedPodInfo, decision: Decision) -> str:
        """The node that a pod goes to: as a batch tells, or one of the best."""
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
        """Run the binding cycle from PreBind on; the pod is on its node in the cluster already."""
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
        self._note(bound, Happening.SCHEDULED, node)
        self._changes += 1
        self._keep_budgets(bound, 1)
        self.queue.move_all(ASSIGNED_POD_ADD, None, bound)
        if info.pod.status.nominated_node_name and self.scheduler.release.queue.binding_ends_nomination:
            self._left_nominated_node(info.pod)
        return status

    def _take_in(self, effects: Iterable[ObjectChange]) -> None:
        """Let the cluster take in what plugins changed, and tell the queue."""
        changes = list(effects)
        if not changes:
            return
        self._move(self.cluster.with_added(changed_objects(changes)))
        for change in changes:
            if change.event is not None:
                self.queue.move_all(change.event, change.old, change.new)

    def _settle_waiting(self) -> None:
        """Bind the pods that need not wait any longer, and take back those that were turned away."""
        while settled := self.scheduler.waiting_pods.settled():
            # What plugins give back for one that was turned away may settle others.
            for pod, status in settled:
                self._settle(pod, status)

    def _settle(self, pod: Pod, status: Status) -> None:
        info, decision, node = self._waiting.pop(uid_of(pod))
        if status.code is Code.SUCCESS:
            status = self._bind(info, decision, node)
        else:
            run_unreserve(decision.framework, decision.state, info.pod, node)
        if status.code is not Code.SUCCESS:
            self._note(info.pod, Happening.FAILED, node, self._forget(info, status))
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, partial(_is_other, pod))

    def _forget(self, info: QueuedPodInfo, status: Status) -> str:
        """Take a pod back that was to be bound; why, in the scheduler's words."""
        pod = without_nomination(info.pod)
        self._move(self.cluster.with_pods(added=[pod]))
        info.pod = pod
        info.unschedulable_plugins = {status.plugin} if status.code.rejected else set()
        info.pending_plugins = set()
        self.queue.add_unschedulable(info)
        if not status.code.rejected:
            return status.message
        return f"0/1 nodes are available: 1 {status.message}."

    # What follows a cycle that found none.

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
        self._note(info.pod, Happening.FAILED, node, message)
        self._evict(info.pod, victims)
        return self._attempt(
            info,
            decision,
            message=message,
            nominated=node,
            victims=tuple(sorted(victim.key for victim in victims)),
        )

    def _give_up(self, info: QueuedPodInfo, decision: Decision) -> Attempt:
        """Let a pod evict nobody any more, and try it no longer."""
        self.restless.add(info.key)
        self.queue.add_unschedulable(info)
        self.queue.delete(info.key)
        self._nominate(info.pod, "")
        message = f"{decision.message.rstrip('.')}; given up here: those it evicts come back before its turn"
        self._note(info.pod, Happening.FAILED, "", message)
        return self._attempt(info, decision, message=message)

    def _victims(self, decision: Decision, node: str) -> list[Pod]:
        """The pods to evict on the node that is taken, the most important first."""
        preemption = decision.preemption
        if preemption is None or not node:
            return []
        pods = [pod_at(self.cluster, victim.pod) for victim in preemption.candidate(node).victims]
        if self.scheduler.release.queue.skips_terminating_victims:
            return [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        return pods

    def _lower_nominated(self, decision: Decision, node: str, victims: list[Pod]) -> list[Pod]:
        """The pods that lose their nomination to the node that is taken."""
        if not node or (not victims and self.scheduler.release.queue.skips_terminating_victims):
            return []
        row = self.cluster.nodes.row[node]
        found = lower_priority_nominated_pods(self.cluster, decision.pod, row)
        return [pod_at(self.cluster, index) for index in found.tolist()]

    def _nominate(self, pod: Pod, node: str) -> None:
        """Write a pod's nomination, and tell the queue."""
        before = pod.status.nominated_node_name
        if before == node:
            return
        changed = replace(pod, status=replace(pod.status, nominated_node_name=node))
        self._move(self.cluster.with_pods(added=[changed]))
        self.queue.update(pod, changed)
        if before:
            self._left_nominated_node(pod)

    def _left_nominated_node(self, pod: Pod) -> None:
        """Tell pods of lower or equal priority that a pod counts on the node no longer that it was nominated to."""
        priority = pod.spec.priority or 0
        self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: (other.spec.priority or 0) <= priority)

    def _evict(self, preemptor: Pod, victims: list[Pod]) -> None:
        """Let victims go: all are asked, and each goes after its grace period."""
        for victim in victims:
            self._note(victim, Happening.PREEMPTED, victim.spec.node_name, f"by {preemptor.key}")
        if self._world.grace:
            self.scheduler.preempting.discard(uid_of(preemptor))
            for victim in victims:
                self.delete(victim, preempted=True)
            return
        for i, victim in enumerate(victims):
            # Without grace the first is gone before the last was asked; only with that one the preemptor is let in.
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
