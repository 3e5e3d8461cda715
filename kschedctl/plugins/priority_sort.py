"""PrioritySort: the queue's order is priority, then time of arrival."""

from __future__ import annotations

from datetime import datetime

from kschedctl.api.pod import Pod
from kschedctl.framework.interface import QueueSortPlugin


class PrioritySort(QueueSortPlugin):
    """Upstream: plugins/queuesort."""

    name = "PrioritySort"

    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[object, ...]:
        """Higher priority first, then the earlier."""
        return -(pod.spec.priority or 0), queued_at
