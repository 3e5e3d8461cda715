"""The scheduling queue of releases that queue pod groups as entries (KEP-4671; upstream ``scheduling_queue.go``).

The members of a group share one entry. Members without a PodGroup are in no queue. Members that come back from an
attempt are put together again once all of them have come back. A group that failed is in back-off until its time is
over: no event brings it forward.
"""

from collections.abc import Callable
from datetime import datetime

from kschedctl.cluster.pod_group_trees import Group, GroupForest, entity_key
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.queued_pods import QueuedPodGroupInfo, QueuedPodInfo, QueueEntry, group_key
from kschedctl.trials.simulate.scheduling_queue import SchedulingQueue


class PodGroupQueue(SchedulingQueue):
    """A queue whose entries are pods and pod groups."""

    def __init__(self, scheduler: Scheduler, now: Callable[[], datetime]) -> None:
        super().__init__(scheduler, now)
        #: The members whose PodGroup, or a group above it, does not exist, by the key of their PodGroup; and those
        #: that came back from the current attempt, by the key of its entry.
        self._incomplete: dict[str, list[QueuedPodInfo]] = {}
        self._returned: dict[str, list[QueuedPodInfo]] = {}
        self._trying = ""

    def _root(self, pod: Pod) -> Group | None:
        """Return the group that is tried for a member: its PodGroup, or the root of its tree."""
        return GroupForest.of(self.scheduler.cluster, self.scheduler.release).root(
            pod.namespace, pod.spec.pod_group_name
        )

    def add(self, pod: Pod) -> QueuedPodInfo:
        if not pod.spec.pod_group_name:
            return super().add(pod)
        info = self._new(pod)
        self._add_member(info)
        return info

    def _add_member(self, info: QueuedPodInfo) -> None:
        group = self._root(info.pod)
        if group is None:
            self._set_aside(info)
            return
        key = entity_key(group)
        entry, strategy = self._take_out(key)
        if isinstance(entry, QueuedPodGroupInfo):
            entry.add(info)
            self._requeue(entry, strategy)
        elif self._trying == key:
            self._returned.setdefault(key, []).append(info)
        else:
            new = QueuedPodGroupInfo(key, group.spec.priority or 0, [info], timestamp=info.timestamp)
            self._move_to_active(new)

    def _set_aside(self, info: QueuedPodInfo) -> None:
        """Keep a member out of the queue until all groups above it exist."""
        self._incomplete.setdefault(group_key(info.pod), []).append(info)

    def pop(self) -> QueueEntry | None:
        entry = super().pop()
        self._trying = entry.key if entry is not None else ""
        return entry

    def _return(self, info: QueuedPodInfo) -> None:
        if not info.pod.spec.pod_group_name:
            self._trying = ""
            super()._return(info)
            return
        self.done(info)
        self._add_member(info)

    def add_attempted_group(self, entry: QueuedPodGroupInfo, code: Code) -> None:
        """Put the members that came back from an attempt into the queue together.

        Args:
            code: The code of the group's status. After a success, the rest is active at once.
        """
        self._trying = ""
        returned = self._returned.pop(entry.key, [])
        if not returned:
            return
        gone = [info for info in returned if self._root(info.pod) is None]
        for info in gone:
            self._set_aside(info)
        returned = [info for info in returned if info not in gone]
        if not returned:
            return
        tried = {member.key for member in entry.members}
        entry.members = []
        for info in returned:
            entry.add(info)
        succeeded = code is Code.SUCCESS
        if succeeded:
            entry.consecutive_errors = entry.unschedulable_count = 0
        else:
            entry.backoff_expiration = None
            if code.rejected:
                entry.unschedulable_count += 1
                entry.consecutive_errors = 0
            else:
                entry.consecutive_errors += 1
        if not (succeeded and any(info.key in tried for info in returned)):
            entry.timestamp = self._now()
        if not succeeded and self._backoff.is_backing_off(entry, self._now()):
            self._move_to_backoff(entry)
        else:
            self._move_to_active(entry)

    def add_group(self, group: Group) -> None:
        """Add the members that waited for a group."""
        forest = GroupForest.of(self.scheduler.cluster, self.scheduler.release)
        for leaf in forest.leaves(group):
            for info in self._incomplete.pop(entity_key(leaf), []):
                self._add_member(info)

    def delete_group(self, group: Group) -> None:
        """Take the members below a deleted group out of the queue; they wait for a new one."""
        for entry in (*self.retried, *self.unschedulable):
            if not isinstance(entry, QueuedPodGroupInfo):
                continue
            gone = [info for info in entry.members if self._root(info.pod) is None]
            if not gone:
                continue
            _, strategy = self._take_out(entry.key)
            for info in gone:
                entry.remove(info.key)
                self._set_aside(info)
            if entry.members:
                self._requeue(entry, strategy)

    def _find(self, pod: Pod) -> tuple[QueueEntry, QueuedPodInfo] | None:
        if not pod.spec.pod_group_name:
            return super()._find(pod)
        key = self._key_of(pod)
        entry = self._active.get(key) or self._backoff.get(key) or self._unschedulable.get(key)
        for waiting in (self._incomplete.get(group_key(pod), ()), self._returned.get(key, ())):
            info = next((each for each in waiting if each.key == pod.key), None)
            if info is not None:
                return info, info
        member = next((each for each in entry.members if each.key == pod.key), None) if entry is not None else None
        return (entry, member) if entry is not None and member is not None else None

    def _key_of(self, pod: Pod) -> str:
        root = self._root(pod)
        return entity_key(root) if root is not None else group_key(pod)

    def delete(self, pod: Pod) -> None:
        if not pod.spec.pod_group_name:
            super().delete(pod)
            return
        key = self._key_of(pod)
        for waiting, at in ((self._incomplete, group_key(pod)), (self._returned, key)):
            waiting[at] = [info for info in waiting.get(at, ()) if info.key != pod.key]
        entry, strategy = self._take_out(key)
        if not isinstance(entry, QueuedPodGroupInfo):
            return
        entry.remove(pod.key)
        if entry.members:
            self._requeue(entry, strategy)
