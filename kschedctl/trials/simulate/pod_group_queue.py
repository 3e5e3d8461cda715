"""The scheduling queue of releases that queue pod groups as entries (KEP-4671; upstream ``scheduling_queue.go``).

The members of a group share one entry. Members without a PodGroup are in no queue. Members that come back from an
attempt are put together again once all of them have come back. A group that failed is in back-off until its time is
over: no event brings it forward.
"""

from collections.abc import Callable
from datetime import datetime

from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.queued_pods import QueuedPodGroupInfo, QueuedPodInfo, QueueEntry, group_key, queue_key
from kschedctl.trials.simulate.scheduling_queue import SchedulingQueue


class PodGroupQueue(SchedulingQueue):
    """A queue whose entries are pods and pod groups."""

    def __init__(self, scheduler: Scheduler, now: Callable[[], datetime]) -> None:
        super().__init__(scheduler, now)
        #: The members whose PodGroup does not exist, and those that came back from the current attempt, by the key of
        #: their group.
        self._incomplete: dict[str, list[QueuedPodInfo]] = {}
        self._returned: dict[str, list[QueuedPodInfo]] = {}
        self._trying = ""

    def add(self, pod: Pod) -> QueuedPodInfo:
        if not pod.spec.pod_group_name:
            return super().add(pod)
        info = self._new(pod)
        self._add_member(info)
        return info

    def _add_member(self, info: QueuedPodInfo) -> None:
        pod = info.pod
        key = group_key(pod)
        group = self.scheduler.cluster.get(PodGroup, pod.spec.pod_group_name, pod.namespace)
        if group is None:
            self._incomplete.setdefault(key, []).append(info)
            return
        entry, strategy = self._take_out(key)
        if isinstance(entry, QueuedPodGroupInfo):
            entry.add(info)
            self._requeue(entry, strategy)
        elif self._trying == key:
            self._returned.setdefault(key, []).append(info)
        else:
            place = group.namespace, group.name, group.spec.priority or 0
            self._move_to_active(QueuedPodGroupInfo(*place, [info], timestamp=info.timestamp))

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
        if self.scheduler.cluster.get(PodGroup, entry.name, entry.namespace) is None:
            self._incomplete.setdefault(entry.key, []).extend(returned)
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

    def add_group(self, group: PodGroup) -> None:
        """Add the members that waited for their PodGroup."""
        for info in self._incomplete.pop(queue_key(group.namespace, group.name), []):
            self._add_member(info)

    def delete_group(self, group: PodGroup) -> None:
        """Take the members of a deleted PodGroup out of the queue; they wait for a new one."""
        entry, _ = self._take_out(queue_key(group.namespace, group.name))
        if entry is not None:
            self._incomplete.setdefault(entry.key, []).extend(entry.members)

    def _find(self, pod: Pod) -> tuple[QueueEntry, QueuedPodInfo] | None:
        if not pod.spec.pod_group_name:
            return super()._find(pod)
        key = group_key(pod)
        entry = self._active.get(key) or self._backoff.get(key) or self._unschedulable.get(key)
        for waiting in (self._incomplete, self._returned):
            info = next((each for each in waiting.get(key, ()) if each.key == pod.key), None)
            if info is not None:
                return info, info
        member = next((each for each in entry.members if each.key == pod.key), None) if entry is not None else None
        return (entry, member) if entry is not None and member is not None else None

    def delete(self, pod: Pod) -> None:
        if not pod.spec.pod_group_name:
            super().delete(pod)
            return
        key = group_key(pod)
        for waiting in (self._incomplete, self._returned):
            waiting[key] = [info for info in waiting.get(key, ()) if info.key != pod.key]
        entry, strategy = self._take_out(key)
        if not isinstance(entry, QueuedPodGroupInfo):
            return
        entry.remove(pod.key)
        if entry.members:
            self._requeue(entry, strategy)
