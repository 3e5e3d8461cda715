"""The loop around scheduling cycles (upstream ``schedule_one.go``, ``eventhandlers.go``, ``preemption/executor.go``).

A cycle is followed by what it leads to before the next one begins: the pod is bound, or goes back to the queue and its
victims go. What happens is told to the queue as events, in the order in which the API server would tell it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.api.core import Node
from kschedctl.api.device import ResourceClaim
from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod
from kschedctl.clock import VirtualClock
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.framework.binding import run_bind, run_permit, run_pre_bind, run_reserve, run_unreserve
from kschedctl.framework.effects import ObjectChange, changed_objects
from kschedctl.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    ActionType,
    ClusterEvent,
    EventResource,
    node_changes,
    same_pod,
)
from kschedctl.framework.signature import sign_pod
from kschedctl.framework.status import Code, Status
from kschedctl.preemption.prepare_candidate import lower_priority_nominated_pods
from kschedctl.scheduler.aftermath import grace_seconds
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.batch import GATE, OpportunisticBatch
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.disruption import budgets_after
from kschedctl.simulate.pods import age, on_node, pod_at, without_nomination
from kschedctl.simulate.queued_pod import QueuedPodInfo
from kschedctl.simulate.rejectors import rejector_plugins
from kschedctl.simulate.scheduling_queue import SchedulingQueue
from kschedctl.simulate.timeline import Happening, TimelineEntry
from kschedctl.simulate.world import World, replacement, running, terminating, waits_for_end
from kschedctl.whatif.pods import Moved, move_pods
from kschedctl.workloads.template import uid_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: After so many seconds a pod is tried again that nothing has woken.
_LEFTOVERS_AFTER: Final = 330.0
#: A pod that has evicted others so often does not come to an end by doing it once more.
_MOST_PREEMPTIONS: Final = 25
#: How long a cycle takes, and the arrival of a pod, in seconds.
TICK: Final = 0.001
#: What the timeline says, before the other, of a pod that is made instead of one that goes.
IN_PLACE_OF: Final = "in place of "


class Simulation:
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
    scheduler : Scheduler
        The scheduler over the cluster as it is now.
    queue : SchedulingQueue
        Its queue.
    timeline : list of TimelineEntry
        What has happened so far.
    began : datetime
        The time at first.
    met : dict of str to ObjectMeta
        All pods that were in the queue, ``namespace/name``, those that are gone included.
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
        taken_at = scheduler.cluster.taken_at
        self.clock = clock or VirtualClock(taken_at.timestamp() if taken_at is not None else 0.0)
        self.scheduler = scheduler
        self.queue = SchedulingQueue(scheduler, self.now)
        self.timeline: list[TimelineEntry] = []
        self.began = self.now()
        self.met: dict[str, ObjectMeta] = {}
        self.restless: set[str] = set()
        self._preemptions: Counter[str] = Counter()
        self._world = world or World()
        self._choose = choose
        #: How often the cluster changed in a way that could let a pod in, and as of which change each was tried.
        self._changes = 0
        self._tried: dict[str, int] = {}
        self._batches: dict[str, OpportunisticBatch] = {}
        self._waiting: dict[str, tuple[QueuedPodInfo, Decision, str]] = {}

    @property
    def cluster(self) -> Cluster:
        """The cluster as it is now."""
        return self.scheduler.cluster

    def now(self) -> datetime:
        """The time, to the microsecond."""
        return _EPOCH + timedelta(microseconds=round(self.clock.now() * 1_000_000))

    def create(self, pods: Iterable[Pod], why: str = "") -> None:
        """Let pods arrive, one after another; those that the scheduler is not responsible for only exist.

        Parameters
        ----------
        why : str
            What the timeline says of it.
        """
        new = list(pods)
        if self._world.controllers:
            # Claims that are made for pods are there at once.
            self._move(move_pods(self.cluster, added=new).cluster)
            index = self.cluster.pods.index
            new = [self.cluster.pods.pod(index[pod.namespace, pod.name]) for pod in new]
        else:
            self._move(self.cluster.with_pods(added=new))
        for pod in new:
            self.clock.advance(TICK)
            self._note(pod, Happening.CREATED, why=why)
            self._enqueue(pod)

    def enqueue_pending(self) -> None:
        """Put the pods of the cluster that wait into the queue, the oldest first."""
        pods = self.cluster.pods
        waiting = [pods.pod(index) for index in np.flatnonzero(pods.node_row == PENDING).tolist()]
        for pod in sorted(waiting, key=age):
            self.clock.advance(TICK)
            self._enqueue(pod)

    def _enqueue(self, pod: Pod) -> None:
        if not pod.spec.node_name and self.scheduler.knows(pod) and pod.metadata.deletion_timestamp is None:
            self.met[pod.key] = pod.metadata
            self._sign(self.queue.add(pod))

    def _sign(self, info: QueuedPodInfo) -> None:
        # Extenders do not sign pods, so that with some configured no pods are placed together.
        if self.scheduler.release.enabled(GATE) and not self.scheduler.configuration.extenders:
            info.signature = sign_pod(self.scheduler.framework(info.pod.spec.scheduler_name), info.pod)

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
        decision = self.scheduler.explain(info.pod)
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

    def _keep_budgets(self, pod: Pod, change: int) -> None:
        if self._world.budgets:
            budgets = list(budgets_after(self.cluster, pod, change))
            if budgets:
                self._move(self.cluster.with_added(budgets))

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

    def evict(self, pod: Pod) -> None:
        """Evict a pod, whatever budgets say; ``simulate.eviction`` tells what they do."""
        self._note(pod, Happening.EVICTED, pod.spec.node_name)
        self.delete(pod)

    def change_node(self, node: Node) -> None:
        """Let a node change, or come, and tell the queue."""
        nodes = {each.name: each for each in self.cluster.nodes.objects}
        old = nodes.get(node.name)
        self._move(self.cluster.with_nodes({**nodes, node.name: node}.values()))
        self._changes += 1
        for event in node_changes(old, node) if old is not None else (NODE_ADD,):
            self.queue.move_all(event, old, node)

    def delete(self, pod: Pod, *, preempted: bool = False) -> None:
        """Ask a pod on a node to go: it is gone after its grace period, and made again by its controller.

        Parameters
        ----------
        preempted : bool
            Whether the scheduler asks.
        """
        again = self._world.makes_again(pod)
        grace = grace_seconds(pod.spec) if self._world.grace else 0
        if not grace:
            self.remove(pod)
        elif pod.metadata.deletion_timestamp is None:
            going = terminating(pod, self.now(), preempted=preempted)
            self._move(self.cluster.with_pods(added=[going]))
            self._keep_budgets(pod, -1)
            self.clock.schedule(self.clock.now() + grace, lambda: self._gone(going, again=again))
        if again and (not grace or not waits_for_end(pod)):
            self._make_again(pod)

    def _gone(self, pod: Pod, *, again: bool) -> None:
        self.remove(pod)
        if again and waits_for_end(pod):
            self._make_again(pod)

    def _make_again(self, pod: Pod) -> None:
        taken = self.cluster.pods.index
        new = replacement(pod, lambda name: (pod.namespace, name) in taken)
        self.create([new], f"{IN_PLACE_OF}{pod.key}")

    def remove(self, pod: Pod) -> None:
        """Take a pod away, and tell the queue."""
        index = self.cluster.pods.index.get((pod.namespace, pod.name))
        if index is None:
            return
        before = self.cluster
        after = (
            move_pods(before, removed=[index]) if self._world.controllers else Moved(before.with_pods(removed=[index]))
        )
        self._move(after.cluster)
        self._note(pod, Happening.DELETED, pod.spec.node_name)
        if not pod.spec.node_name:
            self.queue.delete(pod.key)
            return
        if pod.metadata.deletion_timestamp is None:
            self._keep_budgets(pod, -1)
        self._changes += 1
        self.queue.move_all(ASSIGNED_POD_DELETE, pod, None)
        for key in after.freed:
            namespace, _, name = key.partition("/")
            claim, now = (each.get(ResourceClaim, name, namespace) for each in (before, after.cluster))
            action = ActionType.DELETE if now is None else ActionType.UPDATE
            self.queue.move_all(ClusterEvent(EventResource.RESOURCE_CLAIM, action), claim, now)

    def _note(self, pod: Pod, event: Happening, node: str = "", why: str = "") -> None:
        self.timeline.append(TimelineEntry(self.now(), pod.key, event, node, why))

    def _move(self, cluster: Cluster) -> None:
        self.scheduler = self.queue.scheduler = self.scheduler.moved(cluster)

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
