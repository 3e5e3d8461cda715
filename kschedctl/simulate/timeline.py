"""What happens in a simulation, as entries in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Happening(StrEnum):
    """What happened to a pod; in the words of the events that a cluster would have, where there are any."""

    CREATED = "Created"
    GATED = "SchedulingGated"
    SCHEDULED = "Scheduled"
    WAITING = "WaitingOnPermit"
    FAILED = "FailedScheduling"
    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    DELETED = "Deleted"


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened.

    Attributes
    ----------
    time : datetime
        When, by the virtual clock.
    pod : str
        ``namespace/name``.
    event : Happening
        What.
    node : str
        The node that it is about; empty where there is none.
    why : str
        The reason, where there is one.
    """

    time: datetime
    pod: str
    event: Happening
    node: str = ""
    why: str = ""
