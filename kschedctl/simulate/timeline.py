"""What happens in a simulation, as entries in the order of time."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


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


class TimelineEntry(msgspec.Struct, frozen=True):
    """Something that happened; part of answers as it is."""

    time: Annotated[datetime, Meta(description="By the virtual clock.")]
    pod: Annotated[str, Meta(description="As namespace/name.")]
    event: Happening
    node: Annotated[str, Meta(description="The node that it is about; empty if there is none.")]
    why: Annotated[str, Meta(description="The reason, if there is one.")]
