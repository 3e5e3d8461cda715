"""PrioritySort: orders the queue by descending priority, then by time of arrival."""

from __future__ import annotations

from datetime import datetime

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.interface import QueueSortPlugin


class PrioritySort(QueueSortPlugin):
    """Upstream: plugins/queuesort."""

    name = "PrioritySort"

    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[object, ...]:
        """Return a key that sorts by descending priority, then by ascending time of arrival."""
        return -(pod.spec.priority or 0), queued_at
