"""The outcome of one scheduling cycle in a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.placed_pods import on_node, pod_at, without_nomination
from kschedctl.cluster.pod_group_trees import Group
from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.clock import VirtualClock
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_checks import members_problem
from kschedctl.scheduler.cycle.pod_group_decision import MemberDecision, PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import PodsToActivate
from kschedctl.scheduler.framework.events import (
    ASSIGNED_POD_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
    changed_objects,
    same_pod,
)
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo
from kschedctl.scheduler.framework.runtime import run_bind, run_permit, run_pre_bind, run_reserve, run_unreserve
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.select_candidate import lower_priority_nominated_pods
from kschedctl.trials.simulate.alike_pods import GATE, OpportunisticBatch, RankedDecision, RejectedDecision, code_of
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.pod_group_queue import PodGroupQueue
from kschedctl.trials.simulate.queued_pods import QueuedPodGroupInfo, QueuedPodInfo, QueueEntry
from kschedctl.trials.simulate.scheduling_queue import rejector_plugins
from kschedctl.trials.simulate.simulated_cluster import SimulatedCluster
from kschedctl.trials.simulate.timeline import TimelineEvent
from kschedctl.trials.simulate.world import World

if TYPE_CHECKING:
    from kschedctl.scheduler.cycle.pod_group_cycle import PickNode


class GroupAttempt(msgspec.Struct):
    """An attempt at a pod group, shared by the attempts of its members."""

    #: The group's ``namespace/name``; of a tree that of its root.
    key: str
    #: Its key in the queue.
    entity: str
    #: The decision for the group; ``None`` while the attempt is under way, or if all members are being deleted.
    decision: PodGroupDecision | None = None
    #: The condition that was written on the group; ``None`` if nothing was written.
    condition: Condition | None = None
    #: The conditions that were written on the groups of a tree below it, by their ``namespace/name``.
    conditions: Mapping[str, Condition] = msgspec.field(default_factory=dict)
    #: Every search for a node, in order: the pod and the node, which is empty if none was found. The group is
    #: tried once per placement, and again for preemption.
    picks: list[tuple[str, str]] = msgspec.field(default_factory=list)
    #: The pods that are evicted for the group or its members, ``namespace/name`` in order.
    victims: tuple[str, ...] = ()
    #: The members that left the queue without being tried, because they are being deleted: ``namespace/name``.
    #: Where pods are queued, only the pod whose turn it was.
    skipped: tuple[str, ...] = ()

    @property
    def outcome(self) -> GroupOutcome:
        """The outcome; a group is preempting if it, or a member for itself, evicts pods or keeps a nomination."""
        decision = self.decision
        settled = GroupOutcome.SCHEDULED, GroupOutcome.ERROR
        if decision is not None and decision.outcome in settled:
            return decision.outcome
        nominated = decision is not None and any(member.nominated for member in decision.members)
        return GroupOutcome.PREEMPTING if self.victims or nominated else GroupOutcome.UNSCHEDULABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A scheduling cycle and its outcome.

    Attributes
    ----------
    time : datetime
        The time of the cycle, by the virtual clock.
    pod : str
        The pod's ``namespace/name``.
    number : int
        The number of the attempt for this pod, from 1.
    search : Decision, RankedDecision or RejectedDecision
        The scheduler's decision, over the cluster at that time, or what is known of it before it is made.
    node : str
        The node that the pod is bound to; empty if there is none.
    waits : bool
        True if a Permit plugin lets the pod wait, so that it is not bound yet.
    message : str
        The reason why the pod is not scheduled, in the scheduler's words; empty if it is.
    nominated : str
        The node on which capacity is freed for the pod; empty if there is none.
    victims : tuple of str
        The pods that are evicted for this pod, ``namespace/name`` in order.
    group : GroupAttempt or None
        The attempt at the pod's group; ``None`` for a pod that is tried by itself.
    """

    time: datetime
    pod: str
    number: int
    search: Decision | RankedDecision | RejectedDecision
    node: str = ""
    waits: bool = False
    message: str = ""
    nominated: str = ""
    victims: tuple[str, ...] = ()
    group: GroupAttempt | None = None

    @property
    def decision(self) -> Decision:
        """The scheduler's decision, over the cluster at that time; it may be made when it is first read."""
        return self.search if isinstance(self.search, Decision) else self.search.decision

    @property
    def part_of_group(self) -> Decision:
        """The decision for the pod; for a member of a pod group as part of the decision for the group."""
        decision = self.group.decision if self.group is not None else None
        return decision.of_member(self.decision.pod) if decision is not None else self.decision


# The consequences of attempts: a pod is bound, or nominated, its victims are evicted, and other pods are notified.


class Consequences(SimulatedCluster):
    """A simulated cluster in which attempts have consequences.

    Args:
        choose: The tie-breaking rule; by default the first node by name.
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
        self._choose = choose
        self._batches: dict[str, OpportunisticBatch] = {}
        self._waiting: dict[str, tuple[QueuedPodInfo, Decision, str]] = {}

    def _place(self, info: QueuedPodInfo, search: Decision | RankedDecision, node: str) -> tuple[str, bool]:
        """Put a pod on its node and bind it.

        Returns: message: the reason why it could not be bound; the pod is back in the queue then. Empty otherwise;
            waits: true if a Permit plugin lets it wait
        """
        bound = on_node(info.pod, node)
        # Permit plugins see the cluster without the pod, as in kube-scheduler's snapshot.
        permitting = self.scheduler.framework(info.pod.spec.scheduler_name)
        # Nothing reads the phase before the pod is bound; setting it here saves a second, equally costly cluster
        # change.
        self._move(self.cluster.with_pods(added=[self._world.starts(bound) if self._world.kubelet else bound]))
        if isinstance(search, RankedDecision):
            # The plugins of the binding cycle have nothing to do.
            self.queue.done(info)
            self._take_bound(info, node)
            return "", False
        framework, state = search.framework, search.state
        status = run_reserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            # A try of the pod's group ran the Permit plugins as well.
            state.discard(PodsToActivate)
            status, waits = run_permit(permitting, state, bound, node)
            wanted = state.read(PodsToActivate)
            # Most members of a large gang are being tried, and are in no queue.
            if wanted is not None and self.queue.has_waiting:
                for index in wanted.pods.tolist():
                    self.queue.activate(permitting.cluster.pods.key(index))
            if status.code is Code.WAIT:
                self._waiting_pods.add(bound, waits, self.clock.now())
                self._waiting[uid_of(bound)] = info, search, node
                self._note(info.pod, TimelineEvent.WAITING, node, f"for {', '.join(waits)}")
                return "", True
            if status.code is not Code.SUCCESS:
                run_unreserve(framework, state, info.pod, node)
        if status.code is Code.SUCCESS:
            status = self._bind(info, search, node)
        return ("" if status.code is Code.SUCCESS else self._forget(info, status)), False

    def _pick(self, info: QueuedPodInfo, search: Decision | RankedDecision, choose: Choose) -> str:
        """Return the node for a pod: the one that the batch hints at, or one of the best nodes."""
        if not self.scheduler.release.enabled(GATE):
            return choose(info.pod, search.best)
        batch = self._batches.setdefault(info.pod.spec.scheduler_name, OpportunisticBatch())
        hinted = ""
        nodes = batch.hint(search, info.signature, self.queue.cycles, self.now())
        if nodes:
            hinted = choose(info.pod, nodes)
            batch.take(search.framework, hinted)
        fits = hinted and code_of(search, self.cluster.nodes.row[hinted]) is Code.SUCCESS
        taken = hinted if fits and not info.pod.status.nominated_node_name else choose(info.pod, search.best)
        batch.store(search, info.signature, hinted, taken, self.queue.cycles, self.now())
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
        # Plugins may have changed objects: the cluster takes them in, and the queue hears of them.
        if changes := list(decision.state.effects):
            self._move(self.cluster.with_added(changed_objects(changes)))
            for change in changes:
                self._notify(change)
        self._take_bound(info, node)
        return status

    def _take_bound(self, info: QueuedPodInfo, node: str) -> None:
        """Notify the queue and the disruption controller that a pod was bound."""
        bound = on_node(info.pod, node)
        self._note(bound, TimelineEvent.SCHEDULED, node)
        self._arrived_on_node(bound)
        if info.pod.status.nominated_node_name and self.scheduler.release.queue.binding_ends_nomination:
            self._left_nominated_node(info.pod)

    def _settle_waiting(self) -> None:
        """Bind the pods that Permit plugins allowed, and put those that were rejected back into the queue."""
        while settled := self._waiting_pods.settled():
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

    def _victims(self, decision: Decision, node: str) -> list[Pod]:
        """Return the pods to evict on the chosen node, the most important first."""
        preemption = decision.preemption
        if preemption is None or not node:
            return []
        pods = [pod_at(decision.cluster, victim.pod) for victim in preemption.candidate(node).victims]
        return self._to_evict(pods)

    def _to_evict(self, pods: list[Pod]) -> list[Pod]:
        """Return the pods whose deletion preemption requests: not those that are being deleted already."""
        if self.scheduler.release.queue.skips_terminating_victims:
            return [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        return pods

    def _lower_nominated(self, decision: Decision, node: str, victims: list[Pod]) -> list[Pod]:
        """Return the pods that lose their nomination to the chosen node."""
        if not node or (not victims and self.scheduler.release.queue.skips_terminating_victims):
            return []
        found = lower_priority_nominated_pods(self.cluster, decision.pod, self.cluster.nodes.row[node])
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

    def _evict(self, preemptor: ApiObject, victims: list[Pod]) -> None:
        """Delete the victims of a pod or a group: all deletions are requested at once, and take the grace period."""
        name = f"{preemptor.namespace}/{preemptor.metadata.name}"
        by = f"by {name}" if isinstance(preemptor, Pod) else f"by pod group {name}"
        for victim in victims:
            self._note(victim, TimelineEvent.PREEMPTED, victim.spec.node_name, by)
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


def _is_other(pod: Pod, other: Pod) -> bool:
    return not same_pod(pod, other)


# Attempts at pod groups in a simulation: the members that are tried together, and the consequences (KEP-4671).

#: Returns the tie-breaking rule for an attempt at a group, by its ``namespace/name``. Unlike other rules, it is also
#: called for searches that find no node, without nodes to choose from.
ChooseInGroup = Callable[[str], Choose]


class _Tried(msgspec.Struct, frozen=True):
    """A member's entry in the queue, the decision for it, and the pods that it evicts for itself."""

    info: QueuedPodInfo
    member: MemberDecision
    victims: list[Pod]


class PodGroupAttempts(Consequences):
    """A simulated cluster in which groups are tried.

    Args:
        choose_in_group: The tie-breaking rule within groups; by default ``choose``.
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
        super().__init__(scheduler, clock=clock, choose=choose, world=world)
        self._choose_in_group = choose_in_group

    def _is_group(self, entry: QueueEntry) -> bool:
        """Report whether an entry of the queue is tried as a group."""
        if isinstance(entry, QueuedPodGroupInfo):
            return True
        return self.scheduler.release.pod_groups is not None and bool(entry.pod.spec.pod_group_name)

    def _try_group(self, entry: QueueEntry) -> tuple[Attempt, ...]:
        """Try a group; return an attempt per member, in the order of the attempt.

        If all members are being deleted, none is tried, and the attempts have no message.
        """
        popped = self._members_to_try(entry)
        is_refused = self._is_refused(popped)
        skipped = [info for info in popped if not is_refused and info.pod.metadata.deletion_timestamp is not None]
        infos = [info for info in popped if info not in skipped]
        for info in skipped:
            self.queue.done(info)
        info_of_group = PodGroupInfo.tried_for(self.cluster, self.scheduler.release, [info.pod for info in popped])
        # Members that a pod drew in are not known to have been popped.
        told = skipped if isinstance(entry, QueuedPodGroupInfo) else [info for info in skipped if info is entry]
        group = GroupAttempt(
            info_of_group.key, info_of_group.entity, skipped=tuple(info.key for info in told) if infos else ()
        )
        if not infos:
            if isinstance(entry, QueuedPodGroupInfo) and isinstance(self.queue, PodGroupQueue):
                self.queue.add_attempted_group(entry, Code.SUCCESS)
            return tuple(self._skipped(info, group) for info in told)
        first = infos[0].pod
        framework = self.scheduler.framework(first.spec.scheduler_name)
        pods = [info.pod for info in infos]
        from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group

        decision = schedule_pod_group(framework, pods, self._picker(infos, group))
        by_key = {info.key: info for info in infos}
        tried = [_Tried(by_key[each.pod.key], each, self._own_victims(each)) for each in decision.members]
        victims = self._to_evict([pod_at(decision.cluster, index) for index in decision.victims])
        root = decision.group.group
        if victims and root is not None:
            self.scheduler.preempting.add(uid_of(root))
        self.scheduler.preempting.update(uid_of(each.member.pod) for each in tried if each.victims)
        attempts = [self._conclude(each, group) for each in tried]
        group.decision = decision
        group.victims = tuple(sorted({pod.key for pod in victims} | {v.key for each in tried for v in each.victims}))
        self._write_conditions(decision, group)
        if isinstance(entry, QueuedPodGroupInfo) and isinstance(self.queue, PodGroupQueue):
            self.queue.add_attempted_group(entry, decision.status.code)
        for each in tried:
            info, member = each.info, each.member
            if member.node or member.nominated is None:
                continue
            lower = []
            if each.victims and member.decision is not None:
                lower = self._lower_nominated(member.decision, member.preempts_on, each.victims)
            self._nominate(info.pod, member.nominated)
            for pod in lower:
                self._nominate(pod, "")
        for pod in self._lower_nominated_on_nodes_of(decision, victims):
            self._nominate(pod, "")
        if root is not None:
            self._evict(root, victims)
        for each in tried:
            self._evict(each.member.pod, each.victims)
        return tuple(attempts)

    def _write_conditions(self, decision: PodGroupDecision, attempt: GroupAttempt) -> None:
        """Write what an attempt says of a group, and of those of its tree."""
        attempt.condition = decision.condition
        attempt.conditions = {group.key: condition for group, condition in decision.conditions_below}
        own = [(decision.group, decision.condition)] if decision.condition is not None else []
        for info, condition in (*own, *decision.conditions_below):
            if (group := info.group) is not None:
                others = tuple(each for each in group.status.conditions if each.type != condition.type)
                status = replace(group.status, conditions=(*others, condition))
                self.update_group(group, replace(group, status=status))

    def _lower_nominated_on_nodes_of(self, decision: PodGroupDecision, victims: list[Pod]) -> list[Pod]:
        """Return the pods of lower priority that lose their nomination to the nodes of a preempting group."""
        rules = self.scheduler.release.pod_groups
        if not victims or rules is None or not rules.clears_lower_nominations:
            return []
        pods, nodes = self.cluster.pods, self.cluster.nodes.row
        rows = [nodes[member.nominated] for member in decision.members if member.nominated]
        lower = np.isin(pods.nominated_row, rows) & (pods.priority < decision.group.priority)
        return [pod_at(self.cluster, index) for index in np.flatnonzero(lower).tolist()]

    def _is_refused(self, infos: list[QueuedPodInfo]) -> bool:
        """Report whether the members do not agree, which ends the attempt before those being deleted are left out."""
        pods = [info.pod for info in infos]
        group = PodGroupInfo.tried_for(self.cluster, self.scheduler.release, pods)
        return bool(members_problem(self.scheduler.framework(pods[0].spec.scheduler_name), group))

    def _members_to_try(self, entry: QueueEntry) -> list[QueuedPodInfo]:
        """Return the members of an entry; a pod draws in the other members of its group that wait in the queue."""
        if isinstance(entry, QueuedPodGroupInfo):
            return list(entry.members)
        pod = entry.pod
        infos = [entry]
        pods = self.cluster.pods
        members = group_members(self.cluster, pod.namespace, pod.spec.pod_group_name)
        for index in members[pods.node_row[members] == PENDING].tolist():
            info = self.queue.pop_specific(pods.key(index)) if pods.key(index) != pod.key else None
            if info is not None:
                infos.append(info)
        return sorted(infos, key=lambda info: (-(info.pod.spec.priority or 0), info.number))

    def _picker(self, infos: list[QueuedPodInfo], group: GroupAttempt) -> PickNode:
        by_key = {info.key: info for info in infos}
        choose = self._choose_in_group(group.key) if self._choose_in_group is not None else None

        def pick(pod: Pod, decision: Decision) -> str:
            node = ""
            if decision.best:
                node = self._pick(by_key[pod.key], decision, choose or self._choose)
            elif choose is not None:
                choose(pod, ())
            group.picks.append((pod.key, node))
            nominated = decision.post_filter.nominated if decision.post_filter is not None else ()
            return node or (self._choose(pod, nominated) if nominated else "")

        return pick

    def _own_victims(self, member: MemberDecision) -> list[Pod]:
        """Return the pods that a member evicts for itself, whatever becomes of its group."""
        decision = member.decision
        if decision is None or decision.best or decision.post_filter is None or not decision.post_filter.nominated:
            return []
        return self._victims(decision, member.preempts_on)

    def _conclude(self, each: _Tried, group: GroupAttempt) -> Attempt:
        """Bind a member, or put it back into the queue."""
        info, member = each.info, each.member
        decision = member.decision or self._untried(member)
        message, waits = member.message, False
        if member.node:
            message, waits = self._place(info, decision, member.node)
        else:
            info.unschedulable_plugins, info.pending_plugins = _rejectors(member)
            self.queue.add_unschedulable(info)
            self._note(info.pod, TimelineEvent.FAILED, member.nominated or "", message)
        return Attempt(
            time=self.now(),
            pod=info.key,
            number=info.attempts,
            search=decision,
            node="" if message else member.node,
            waits=waits,
            message=message,
            nominated=member.nominated or "",
            victims=tuple(sorted(victim.key for victim in each.victims)),
            group=group,
        )

    def _skipped(self, info: QueuedPodInfo, group: GroupAttempt) -> Attempt:
        framework = self.scheduler.framework(info.pod.spec.scheduler_name)
        decision = Decision.untried(framework, info.pod, "", is_error=False)
        return Attempt(time=self.now(), pod=info.key, number=info.attempts, search=decision, group=group)

    def _untried(self, member: MemberDecision) -> Decision:
        framework = self.scheduler.framework(member.pod.spec.scheduler_name)
        return Decision.untried(framework, member.pod, member.message, is_error=member.is_error)

    def update_group(self, old: Group, new: Group) -> None:
        """Change a group, and notify the queue."""
        self._move(self.cluster.with_added([new]))
        self.queue.move_all(ClusterEvent(EventResource(type(new).__name__), ActionType.UPDATE), old, new)

    def create_group(self, group: Group) -> None:
        """Create a group, and notify the queue."""
        self._move(self.cluster.with_added([group]))
        self._changes += 1
        if isinstance(self.queue, PodGroupQueue):
            self.queue.add_group(group)
        self.queue.move_all(ClusterEvent(EventResource(type(group).__name__), ActionType.ADD), None, group)

    def delete_group(self, group: Group) -> None:
        """Delete a group, and notify the queue; its pods stay."""
        self._move(self.cluster.without([group]))
        if isinstance(self.queue, PodGroupQueue):
            self.queue.delete_group(group)
        self.queue.move_all(ClusterEvent(EventResource(type(group).__name__), ActionType.DELETE), group, None)


def _rejectors(member: MemberDecision) -> tuple[set[str], set[str]]:
    """Return the plugins whose events can make a member schedulable: those that rejected it, not the group."""
    if member.refused_by:
        return {member.refused_by}, set()
    if member.is_error or member.fits or member.decision is None:
        return set(member.group_refused_by), set()
    return rejector_plugins(member.decision)
