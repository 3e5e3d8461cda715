"""The cluster of a simulation: pods and nodes that come, change and go, and the queue that is notified.

This module holds the changes that are not the scheduler's: arrivals, evictions, controllers that recreate pods, the
disruption controller, and the kubelet that terminates pods. ``simulation`` adds the scheduler's loop.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from random import Random
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import age, pod_at
from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.clock import VirtualClock
from kschedctl.controllers.disruption import budgets_after, covering_budgets
from kschedctl.controllers.workloads.ownership import wanted_replicas
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.workload import DaemonSet, StatefulSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    UNSCHEDULED_POD_ADD,
    ActionType,
    ClusterEvent,
    EventResource,
    ObjectChange,
    node_changes,
)
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import PreEnqueuePlugin
from kschedctl.scheduler.framework.runtime import sign_pod
from kschedctl.trials.simulate.alike_pods import GATE
from kschedctl.trials.simulate.pod_group_queue import PodGroupQueue
from kschedctl.trials.simulate.scheduling_queue import SchedulingQueue
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent
from kschedctl.trials.simulate.world import (
    GeneratedNames,
    World,
    grace_seconds,
    is_recreated_after_deletion,
    replacement,
    terminating,
)
from kschedctl.trials.whatif.pods import PodChanges, move_pods, successor

# Pods that are being deleted at the start of a simulation.
#
# The deletion timestamp already includes the grace period: the kubelet has stopped the pod by then. The kubelet of a
# node that is unreachable confirms nothing, so the pods of that node stay.

_UNREACHABLE: Final = "node.kubernetes.io/unreachable"


def ending_pods(cluster: Cluster) -> Iterator[Pod]:
    """Yield the pods that have a deletion timestamp, except those on nodes that are unreachable."""
    pods = cluster.pods
    for index in np.flatnonzero(pods.class_terminating[pods.class_id]).tolist():
        row = int(pods.node_row[index])
        if row < 0 or not _is_unreachable(cluster.nodes.objects[row]):
            yield pod_at(cluster, index)


def is_wanted(cluster: Cluster, pod: Pod) -> bool:
    """Report whether the pod's StatefulSet or DaemonSet still wants it, as far as the snapshot shows.

    A StatefulSet that was scaled down does not want its last pods. A controller that the snapshot lacks is taken to
    want its pods, unless other controllers of its kind are there. Other controllers have replaced the pod already.
    """
    owner = pod.metadata.controller
    if owner is None or not is_recreated_after_deletion(pod):
        return False
    kind: type[StatefulSet | DaemonSet] = StatefulSet if owner.kind == StatefulSet.__name__ else DaemonSet
    stored = cluster.get(kind, owner.name, pod.namespace)
    if stored is None:
        return next(iter(cluster.list(kind)), None) is None
    if stored.metadata.deletion_timestamp is not None:
        return False
    if not isinstance(stored, StatefulSet):
        return True
    start, ordinal = stored.spec.ordinals.start, pod.name.rpartition("-")[2]
    return ordinal.isdecimal() and start <= int(ordinal) < start + wanted_replicas(stored)


def _is_unreachable(node: Node) -> bool:
    """Report whether the node's kubelet has stopped to report, by the condition and the taint that then are set."""
    ready = next((each for each in node.status.conditions if each.type == "Ready"), None)
    return (ready is not None and ready.status == "Unknown") or any(t.key == _UNREACHABLE for t in node.spec.taints)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Limits that keep virtual time within the years that can be represented: the latest start, and the longest time, in
#: seconds, until a deleted pod is gone. A year is far beyond any grace period in use.
_LATEST_START: Final = datetime(9000, 1, 1, tzinfo=UTC)
_LONGEST: Final = 366 * 86_400
#: The virtual time that a scheduling cycle or the arrival of a pod takes, in seconds.
TICK: Final = 0.001
#: The prefix of a timeline reason for a recreated pod; the name of the pod it replaces follows.
IN_PLACE_OF: Final = "in place of "


class SimulatedCluster:
    """A cluster in virtual time, with a scheduler's queue that is notified of changes.

    scheduler: The scheduler over the current cluster.
    timeline: The entries recorded so far.
    began: The time at which the simulation started.
    met: All pods that have been in the queue, by ``namespace/name``, deleted pods included.

    Args:
        scheduler: The scheduler over the initial cluster.
        clock: The virtual clock; by default it starts at the time of the snapshot.
        world: The parts of the cluster that act besides the scheduler; by default everything that is modelled. If
            it has grace periods, the pods that are being deleted in the snapshot end as well.
    """

    def __init__(self, scheduler: Scheduler, *, clock: VirtualClock | None = None, world: World | None = None) -> None:
        self.clock = clock or VirtualClock(_seconds_at_start(scheduler.cluster))
        self._scheduler = self._initial = scheduler
        self._waiting_pods = scheduler.waiting_pods
        #: The pods that have gone since the scheduler was read last, with their indices in its cluster.
        self._gone_since: dict[tuple[str, str], int] = {}
        self._names = GeneratedNames()
        groups = scheduler.release.pod_groups
        self.queue: SchedulingQueue = (PodGroupQueue if groups and groups.queues_groups else SchedulingQueue)(
            scheduler, self.now
        )
        self.timeline: list[TimelineEntry] = []
        self.began = self.now()
        self.met: dict[str, ObjectMeta] = {}
        self._world = world or World()
        #: The number of changes that could let a pod in.
        self._changes = 0
        if self._world.grace:
            # Pods that are being deleted at the start go at their deletion time, or at once if it has passed.
            for pod in ending_pods(self.cluster):
                ends = pod.metadata.deletion_timestamp
                if ends is not None and ends.timestamp() <= self.clock.now() + _LONGEST:
                    again = self._world.makes_again(pod) and is_wanted(self.cluster, pod)
                    self.clock.schedule(ends.timestamp(), partial(self._gone, pod, again=again))

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler over the current cluster."""
        if self._gone_since:
            gone = [*self._gone_since.values()]
            self._gone_since.clear()
            self._move(self._scheduler.cluster.with_pods(removed=gone))
        return self._scheduler

    @property
    def cluster(self) -> Cluster:
        """The current cluster."""
        return self.scheduler.cluster

    def now(self) -> datetime:
        """Return the virtual time, rounded to the microsecond."""
        return _moment(self.clock.now())

    def create(self, pods: Iterable[Pod], why: str = "") -> None:
        """Add pods one after another; pods of another scheduler exist but are not queued.

        Args:
            why: The reason recorded in the timeline.
        """
        new = list(pods)
        if self.scheduler.release.pod_groups is not None and any(pod.spec.pod_group_name for pod in new):
            # A gang is held back until enough of its pods exist.
            for pod in new:
                self._create([pod], why)
        else:
            self._create(new, why)

    def _create(self, new: list[Pod], why: str) -> None:
        if self._world.controllers:
            # Claims that are created for pods exist at once.
            self._move(move_pods(self.cluster, added=new).cluster)
            index = self.cluster.pods.index
            new = [self.pod(index[pod.namespace, pod.name]) for pod in new]
        else:
            self._move(self.cluster.with_pods(added=new))
        # Other pods may be created while the clock advances; they must not enqueue these as members of their group.
        self.met |= {pod.key: pod.metadata for pod in new if self._is_queued(pod)}
        for pod in new:
            self.clock.advance(TICK)
            self._note(pod, TimelineEvent.CREATED, why=why)
            if pod.spec.node_name:
                self._arrived_on_node(pod)
            else:
                self._enqueue(pod)

    def enqueue_pending(self, only: Collection[str] | None = None, order: Random | None = None) -> None:
        """Put the pending pods of the cluster into the queue, the oldest first.

        Args:
            only: The pods to put into the queue, as ``namespace/name``; the others stay pending. By default all.
            order: The source of a random order that replaces the order of creation.
        """
        pods = self.cluster.pods
        every = [pods.pod(index) for index in np.flatnonzero(pods.node_row == PENDING).tolist()]
        waiting = sorted((pod for pod in every if only is None or pod.key in only), key=age)
        if order is not None:
            order.shuffle(waiting)
        for pod in waiting:
            self.clock.advance(TICK)
            self._enqueue(pod)

    def _arrived_on_node(self, pod: Pod) -> None:
        """Notify the queue and the disruption controller of a pod that has got its node."""
        self._changes += 1
        self._keep_budgets(pod, 1)
        self.queue.move_all(ASSIGNED_POD_ADD, None, pod)

    def _is_queued(self, pod: Pod) -> bool:
        # Members that are being deleted are in the queue with their group, which counts them; they are not tried.
        in_group = self.scheduler.release.pod_groups is not None and bool(pod.spec.pod_group_name)
        if pod.metadata.deletion_timestamp is not None and not in_group:
            return False
        return not pod.spec.node_name and self.scheduler.knows(pod)

    def _enqueue(self, pod: Pod) -> None:
        if self._is_queued(pod):
            self.met[pod.key] = pod.metadata
            info = self.queue.add(pod)
            # Extenders do not sign pods, so pods are not batched if any extender is configured.
            if self.scheduler.release.enabled(GATE) and not self.scheduler.configuration.extenders:
                info.signature = sign_pod(self.scheduler.framework(info.pod.spec.scheduler_name), info.pod)
            if self.scheduler.release.pod_groups is not None:
                self.queue.move_all(UNSCHEDULED_POD_ADD, None, pod)

    def evict(self, pods: Sequence[Pod]) -> None:
        """Evict pods one after another regardless of disruption budgets (``eviction_refusal`` checks them)."""
        if len(pods) > 1 and self._evict_together(pods):
            return
        for pod in pods:
            self._note(pod, TimelineEvent.EVICTED, pod.spec.node_name)
            self.delete(pod)

    def _evict_together(self, pods: Sequence[Pod]) -> bool:
        """Evict pods in one change of the cluster.

        Their replacements come into the queue one after another, when all of them exist.

        Returns: False, without a change, if the outcome could differ from that of one change per pod.
        """
        if not self._are_evicted_undisturbed(pods):
            return False
        cluster, release, clock = self.cluster, self.scheduler.release, self.clock
        likes = [
            (pod if pod.key in self.met else successor(pod, cluster, release=release))
            if self._world.makes_again(pod) and not is_recreated_after_deletion(pod)
            else None
            for pod in pods
        ]
        if any(like is not None and _has_companions(like.spec) for like in likes):
            return False
        index, named, time = cluster.pods.index, set[tuple[str, str]](), clock.now()
        index.expect(2 * len(pods))
        evicted: list[tuple[Pod, Pod | None]] = []
        for pod, like in zip(pods, likes, strict=True):
            grace, new = min(grace_seconds(pod.spec), _LONGEST), None
            going = terminating(pod, _moment(time) + timedelta(seconds=grace), preempted=False)
            if like is not None:
                taken = partial(_has_name, (index, named), pod.namespace)
                new = replacement(like, taken, self._names)
                named.add((new.namespace, new.name))
                time += TICK
            evicted.append((going, new))
        self._move(cluster.with_pods(added=[each for both in evicted for each in both if each is not None]))
        index = self.cluster.pods.index
        for pod, (going, new) in zip(pods, evicted, strict=True):
            self._note(pod, TimelineEvent.EVICTED, pod.spec.node_name)
            grace = min(grace_seconds(pod.spec), _LONGEST)
            clock.schedule(clock.now() + grace, partial(self._gone, going, again=self._world.makes_again(pod)))
            if new is not None:
                clock.advance(TICK)
                self._note(new, TimelineEvent.CREATED, why=f"{IN_PLACE_OF}{pod.key}")
                self._enqueue(self.pod(index[new.namespace, new.name]))
        return True

    def _are_evicted_undisturbed(self, pods: Sequence[Pod]) -> bool:
        """Report whether evictions one after another change nothing but these pods, and nothing else happens then."""
        due, lasting = self.clock.next_at(), len(pods) * TICK
        profiles = map(self.scheduler.framework, self.scheduler.configuration.profiles)
        gates = chain.from_iterable(each.plugins(ExtensionPoint.PRE_ENQUEUE, PreEnqueuePlugin) for each in profiles)
        return (
            self._world.grace
            and not self.queue.has_waiting
            and (due is None or due > self.clock.now() + 2 * lasting)
            and not any(gate.counts_pods for gate in gates)
            and not any(pod.metadata.deletion_timestamp is not None for pod in pods)
            and not any(_has_companions(pod.spec) or grace_seconds(pod.spec) <= 2 * lasting for pod in pods)
            and not (self._world.budgets and any(covering_budgets(self.cluster, pod) for pod in pods))
        )

    def change_node(self, node: Node) -> None:
        """Change or add a node, and notify the queue."""
        nodes = self.cluster.nodes
        row = nodes.row.get(node.name, len(nodes))
        old = nodes.objects[row] if row < len(nodes) else None
        self._move(self.cluster.with_nodes((*nodes.objects[:row], node, *nodes.objects[row + 1 :])))
        self._changes += 1
        for event in node_changes(old, node) if old is not None else (NODE_ADD,):
            self.queue.move_all(event, old, node)

    def delete_node(self, name: str) -> None:
        """Remove a node; its pods stay, and count nowhere."""
        gone = next(node for node in self.cluster.nodes.objects if node.name == name)
        self._move(self.cluster.with_nodes([node for node in self.cluster.nodes.objects if node is not gone]))
        self._changes += 1
        self.queue.move_all(ClusterEvent(EventResource.NODE, ActionType.DELETE), gone, None)

    def create_object(self, obj: ApiObject) -> None:
        """Add an object that is neither a node nor a pod, and notify the queue."""
        self._move(self.cluster.with_added([obj]))
        self._notify(ObjectChange(obj))

    def delete_object(self, obj: ApiObject) -> None:
        """Remove an object that is neither a node nor a pod, and notify the queue."""
        self._move(self.cluster.without([obj]))
        event = ObjectChange(obj).event
        if event is not None:
            self.queue.move_all(ClusterEvent(event.resource, ActionType.DELETE), obj, None)

    def _notify(self, change: ObjectChange) -> None:
        if change.event is not None:
            self.queue.move_all(change.event, change.old, change.new)

    def pod(self, index: int) -> Pod:
        """Return a pod of the current cluster, with its node."""
        return pod_at(self.cluster, index)

    def delete(self, pod: Pod, *, preempted: bool = False) -> None:
        """Delete a pod on a node: it is gone after its grace period, and recreated by its controller.

        Args:
            preempted: True if the scheduler deletes the pod.
        """
        again = self._world.makes_again(pod)
        grace = min(grace_seconds(pod.spec), _LONGEST) if self._world.grace else 0
        if not grace:
            self.remove(pod)
        elif pod.metadata.deletion_timestamp is None:
            going = terminating(pod, self.now() + timedelta(seconds=grace), preempted=preempted)
            self._move(self.cluster.with_pods(added=[going]))
            self._keep_budgets(pod, -1)
            self.clock.schedule(self.clock.now() + grace, partial(self._gone, going, again=again))
        if again and (not grace or not is_recreated_after_deletion(pod)):
            self._make_again(pod)

    def _gone(self, pod: Pod, *, again: bool) -> None:
        self.remove(pod)
        if again and is_recreated_after_deletion(pod):
            self._make_again(pod)

    def _make_again(self, pod: Pod) -> None:
        taken = self.cluster.pods.index
        # What-ifs change pending pods as if their templates were changed.
        like = pod if pod.key in self.met else successor(pod, self.cluster, release=self.scheduler.release)
        new = replacement(like, partial(_has_name, (taken,), pod.namespace), self._names)
        self.create([new], f"{IN_PLACE_OF}{pod.key}")
        # Put the other pending members of a pod's group into the queue: they are tried together with it.
        if self.scheduler.release.pod_groups is None or not new.spec.pod_group_name:
            return
        pods = self.cluster.pods
        members = group_members(self.cluster, new.namespace, new.spec.pod_group_name)
        for index in members[pods.node_row[members] == PENDING].tolist():
            if pods.key(index) not in self.met:
                self._enqueue(pods.pod(index))

    def remove(self, pod: Pod) -> None:
        """Remove a pod from the cluster at once, and notify the queue."""
        if self._remove_later(pod):
            return
        index = self.cluster.pods.index.get((pod.namespace, pod.name))
        if index is None:
            return
        self._names.release(pod.namespace, pod.name)
        if not pod.spec.node_name:
            # The queue takes the pod out while the pod's group still counts it.
            self.queue.delete(pod)
        before = self.cluster
        after = (
            move_pods(before, removed=[index])
            if self._world.controllers
            else PodChanges(before.with_pods(removed=[index]))
        )
        self._move(after.cluster)
        self._note(pod, TimelineEvent.DELETED, pod.spec.node_name)
        if not pod.spec.node_name:
            if pod.status.nominated_node_name and self.scheduler.knows(pod):
                self._left_nominated_node(pod)
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

    def _left_nominated_node(self, pod: Pod) -> None:
        """Notify pods of lower or equal priority that a pod has left the node it was nominated to."""
        priority = pod.spec.priority or 0
        self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: (other.spec.priority or 0) <= priority)

    def _remove_later(self, pod: Pod) -> bool:
        """Leave a pod to be removed together with others when the scheduler is read next.

        Returns: False if the pod has to be removed now: something waits for its removal, or claims or budgets change.
        """
        cluster, name = self._scheduler.cluster, (pod.namespace, pod.name)
        index = cluster.pods.index.get(name)
        if (
            index is None
            or name in self._gone_since
            or not pod.spec.node_name
            or pod.metadata.deletion_timestamp is None
            or self.queue.has_waiting
            or next(iter(cluster.list(ResourceClaim)), None) is not None
        ):
            return False
        self._gone_since[name] = index
        self._names.release(*name)
        self._note(pod, TimelineEvent.DELETED, pod.spec.node_name)
        self._changes += 1
        self.queue.move_all(ASSIGNED_POD_DELETE, pod, None)
        return True

    def _note(self, pod: Pod, event: TimelineEvent, node: str = "", why: str = "") -> None:
        name = pod.spec.pod_group_name
        group = f"{pod.namespace}/{name}" if name and self.scheduler.release.pod_groups is not None else ""
        self.timeline.append(TimelineEntry(self.now(), pod.key, event, node, why, group))

    def _move(self, cluster: Cluster) -> None:
        before = self.scheduler
        self._scheduler = self.queue.scheduler = before.moved(cluster)
        # Decisions hold on to the clusters that they were made for.
        if before is not self._initial:
            before.cluster.forget_sums()

    def _keep_budgets(self, pod: Pod, change: int) -> None:
        if self._world.budgets:
            budgets = list(budgets_after(self.cluster, pod, change))
            if budgets:
                self._move(self.cluster.with_added(budgets))


def _has_companions(spec: PodSpec) -> bool:
    """Report whether other objects or pods change when such a pod is created."""
    owns = bool(spec.resource_claims) or any(volume.ephemeral is not None for volume in spec.volumes)
    return owns or bool(spec.pod_group_name)


def _has_name(taken: Iterable[Container[tuple[str, str]]], namespace: str, name: str) -> bool:
    return any((namespace, name) in names for names in taken)


def _moment(seconds: float) -> datetime:
    return _EPOCH + timedelta(microseconds=round(seconds * 1_000_000))


def _seconds_at_start(cluster: Cluster) -> float:
    """Return the time of the snapshot in seconds since the epoch, or 0 without any time.

    Deletion times count only if there is no other: they can be in the future.
    """
    time = cluster.taken_at
    if time is None:
        ends = (pod.metadata.deletion_timestamp for pod in ending_pods(cluster))
        time = max((end for end in ends if end is not None), default=None)
    return min(time, _LATEST_START).timestamp() if time is not None else 0.0


# The pending pods of a cluster, in the order in which they are tried.


def newly_pending_pods(before: Cluster, after: Cluster) -> list[str]:
    """Return the pods that are pending in a cluster and were not before, as ``namespace/name``."""
    old = set(_pending_keys(before))
    return [key for key in _pending_keys(after) if key not in old]


def _pending_keys(cluster: Cluster) -> list[str]:
    return [cluster.pods.key(index) for index in np.flatnonzero(cluster.pods.node_row == PENDING).tolist()]
