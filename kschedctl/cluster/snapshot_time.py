"""The time at which a snapshot was taken, as far as its files show it; ages are computed up to this time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kschedctl.cluster.cluster import Cluster

#: Files are taken for copies if they are more than a day newer than their newest pod.
_SAME_TIME: Final = timedelta(days=1)


def taken_at(cluster: Cluster) -> datetime | None:
    """Return the time at which the snapshot was taken, or ``None`` if it is unknown.

    The time of the files counts only if nothing in them was observed at a time, such as the heartbeat of a node. Files
    that are more than a day newer than their newest pod are copies, such as a checkout: their time shows nothing.
    """
    taken, newest = cluster.taken_at, newest_time(cluster)
    if taken is not None and cluster.dated_by_files and (newest is None or taken - newest > _SAME_TIME):
        return None
    return max(taken, newest) if taken is not None and newest is not None else taken


def newest_time(cluster: Cluster) -> datetime | None:
    """Return the newest creation or start time of a pod, or ``None`` if no pod has one.

    The snapshot was not taken before it.
    """
    records = cluster.pods.records
    times = (time for r in records for time in (r.metadata.creation_timestamp, r.status.start_time))
    return max((time for time in times if time is not None), default=None)
