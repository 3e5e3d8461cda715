"""Which moment a snapshot shows, as far as its files tell: how long something has lasted is counted to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kschedctl.cluster.cluster import Cluster

_SAME_TIME: Final = timedelta(days=1)


def taken_at(cluster: Cluster) -> datetime | None:
    """When the snapshot was taken, where its files tell.

    Files that are much newer than anything they hold are copies, such as a checkout: their time tells nothing.
    """
    taken, newest = cluster.taken_at, newest_time(cluster)
    return taken if taken is not None and newest is not None and taken - newest <= _SAME_TIME else None


def newest_time(cluster: Cluster) -> datetime | None:
    """The newest time that a pod tells of: the snapshot was not taken before; ``None`` where none does."""
    records = cluster.pods.records
    times = (time for r in records for time in (r.metadata.creation_timestamp, r.status.start_time))
    return max((time for time in times if time is not None), default=None)
