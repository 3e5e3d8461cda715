"""Attempts at pod groups in a simulation: the members that are tried together, and the consequences (KEP-4671)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.clock import VirtualClock
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.core import Condition
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_cycle import PickNode, members_problem, schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import MemberDecision, PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.attempt import Attempt, GroupAttempt
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.consequences import Consequences
from kschedctl.trials.simulate.pod_group_queue import PodGroupQueue
from kschedctl.trials.simulate.pods import pod_at
from kschedctl.trials.simulate.queue_entry import QueueEntry
from kschedctl.trials.simulate.queued_pod import QueuedPodInfo
from kschedctl.trials.simulate.queued_pod_group import QueuedPodGroupInfo
from kschedctl.trials.simulate.rejectors import rejector_plugins
from kschedctl.trials.simulate.timeline import TimelineEvent
from kschedctl.trials.simulate.world import World

#: Returns the tie-breaking rule for an attempt at a group, by its ``namespace/name``. Unlike other rules, it is also
#: called for searches that find no node, without nodes to choose from.
ChooseInGroup = Callable[[str], Choose]


@dataclass(frozen=True, slots=True)
class _Tried:
    """A member's entry in the queue, the decision for it, and the pods that it evicts for itself."""

    info: QueuedPodInfo
    member: MemberDecision
    victims: list[Pod]


class PodGroupAttempts(Consequences):
    """A simulated cluster in which groups are tried.

    Parameters
    ----------
    scheduler, clock, choose, world
        As for ``Consequences``.
    choose_in_group : callable, optional
        The tie-breaking rule within groups; by default ``choose``.
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
        skipped = [] if self._is_refused(popped) else [info for info in popped if _is_ending(info)]
        infos = [info for info in popped if info not in skipped]
        for info in skipped:
            self.queue.done(info)
        first = popped[0].pod
        namespace, name = first.namespace, first.spec.pod_group_name
        # Members that a pod drew in are not known to have been popped.
        told = skipped if isinstance(entry, QueuedPodGroupInfo) else [info for info in skipped if info is entry]
        group = GroupAttempt(f"{namespace}/{name}", skipped=tuple(info.key for info in told) if infos else ())
        if not infos:
            if isinstance(entry, QueuedPodGroupInfo) and isinstance(self.queue, PodGroupQueue):
                self.queue.add_attempted_group(entry, Code.SUCCESS)
            return tuple(self._skipped(info, group) for info in told)
        first = infos[0].pod
        framework = self.scheduler.framework(first.spec.scheduler_name)
        pods = [info.pod for info in infos]
        decision = schedule_pod_group(framework, namespace, name, pods, self._picker(infos, group))
        by_key = {info.key: info for info in infos}
        tried = [_Tried(by_key[each.pod.key], each, self._own_victims(each)) for each in decision.members]
        victims = self._to_evict([pod_at(decision.cluster, index) for index in decision.victims])
        pod_group = decision.group.pod_group
        if victims and pod_group is not None:
            self.scheduler.preempting.add(uid_of(pod_group))
        self.scheduler.preempting.update(uid_of(each.member.pod) for each in tried if each.victims)
        attempts = [self._conclude(each, group) for each in tried]
        group.decision = decision
        group.condition = decision.condition
        group.victims = tuple(sorted({pod.key for pod in victims} | {v.key for each in tried for v in each.victims}))
        self._write_condition(decision)
        if isinstance(entry, QueuedPodGroupInfo) and isinstance(self.queue, PodGroupQueue):
            self.queue.add_attempted_group(entry, decision.status.code)
        for each in tried:
            self._renominate(each)
        if pod_group is not None:
            self._evict(pod_group, victims)
        for each in tried:
            self._evict(each.member.pod, each.victims)
        return tuple(attempts)

    def _is_refused(self, infos: list[QueuedPodInfo]) -> bool:
        """Report whether the members do not agree, which ends the attempt before those being deleted are left out."""
        first = infos[0].pod
        pods = (info.pod for info in infos)
        group = PodGroupInfo.of(self.cluster, first.namespace, first.spec.pod_group_name, pods)
        return bool(members_problem(self.scheduler.framework(first.spec.scheduler_name), group))

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

    def _renominate(self, each: _Tried) -> None:
        info, member = each.info, each.member
        if member.node or member.nominated is None:
            return
        lower = []
        if each.victims and member.decision is not None:
            lower = self._lower_nominated(member.decision, member.preempts_on, each.victims)
        self._nominate(info.pod, member.nominated)
        for pod in lower:
            self._nominate(pod, "")

    def _write_condition(self, decision: PodGroupDecision) -> None:
        group, condition = decision.group.pod_group, decision.condition
        if group is None or condition is None:
            return
        self.update_group(group, _with_condition(group, condition))

    def update_group(self, old: PodGroup, new: PodGroup) -> None:
        """Change a PodGroup, and notify the queue."""
        self._move(self.cluster.with_added([new]))
        self.queue.move_all(ClusterEvent(EventResource.POD_GROUP, ActionType.UPDATE), old, new)

    def create_group(self, group: PodGroup) -> None:
        """Create a PodGroup, and notify the queue."""
        self._move(self.cluster.with_added([group]))
        self._changes += 1
        if isinstance(self.queue, PodGroupQueue):
            self.queue.add_group(group)
        self.queue.move_all(ClusterEvent(EventResource.POD_GROUP, ActionType.ADD), None, group)

    def delete_group(self, group: PodGroup) -> None:
        """Delete a PodGroup, and notify the queue; its pods stay."""
        self._move(self.cluster.without([group]))
        if isinstance(self.queue, PodGroupQueue):
            self.queue.delete_group(group)
        self.queue.move_all(ClusterEvent(EventResource.POD_GROUP, ActionType.DELETE), group, None)


def _is_ending(info: QueuedPodInfo) -> bool:
    return info.pod.metadata.deletion_timestamp is not None


def _with_condition(group: PodGroup, condition: Condition) -> PodGroup:
    others = tuple(each for each in group.status.conditions if each.type != condition.type)
    return replace(group, status=replace(group.status, conditions=(*others, condition)))


def _rejectors(member: MemberDecision) -> tuple[set[str], set[str]]:
    """Return the plugins whose events can make a member schedulable: those that rejected it, not the group."""
    if member.refused_by:
        return {member.refused_by}, set()
    if member.is_error or member.fits or member.decision is None:
        return set(), set()
    return rejector_plugins(member.decision)
