"""The cluster of a simulation: pods and nodes that come, change and go, and the queue that hears of it.

What is done to it by others than the scheduler: arrivals, evictions, controllers that make pods again, the disruption
controller, and the kubelet that lets pods end. ``simulation`` puts the scheduler's loop around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from kschedctl.api.core import Node
from kschedctl.api.device import ResourceClaim
from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod
from kschedctl.clock import VirtualClock
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.framework.events import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    ActionType,
    ClusterEvent,
    EventResource,
    node_changes,
)
from kschedctl.framework.signature import sign_pod
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.aftermath import grace_seconds
from kschedctl.simulate.batch import GATE
from kschedctl.simulate.disruption import budgets_after
from kschedctl.simulate.pods import age
from kschedctl.simulate.queued_pod import QueuedPodInfo
from kschedctl.simulate.scheduling_queue import SchedulingQueue
from kschedctl.simulate.timeline import Happening, TimelineEntry
from kschedctl.simulate.world import World, replacement, terminating, waits_for_end
from kschedctl.whatif.pods import Moved, move_pods

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: How long a cycle takes, and the arrival of a pod, in seconds.
TICK: Final = 0.001
#: What the timeline says, before the other, of a pod that is made instead of one that goes.
IN_PLACE_OF: Final = "in place of "


class SimulatedCluster:
    """A cluster in virtual time, with a scheduler's queue that is told of what happens.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster as it is at first.
    clock : VirtualClock, optional
        The time; by default from the moment of the snapshot on.
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
    """

    def __init__(self, scheduler: Scheduler, *, clock: VirtualClock | None = None, world: World | None = None) -> None:
        taken_at = scheduler.cluster.taken_at
        self.clock = clock or VirtualClock(taken_at.timestamp() if taken_at is not None else 0.0)
        self.scheduler = scheduler
        self.queue = SchedulingQueue(scheduler, self.now)
        self.timeline: list[TimelineEntry] = []
        self.began = self.now()
        self.met: dict[str, ObjectMeta] = {}
        self._world = world or World()
        #: How often the cluster changed in a way that could let a pod in.
        self._changes = 0

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

    def _keep_budgets(self, pod: Pod, change: int) -> None:
        if self._world.budgets:
            budgets = list(budgets_after(self.cluster, pod, change))
            if budgets:
                self._move(self.cluster.with_added(budgets))
