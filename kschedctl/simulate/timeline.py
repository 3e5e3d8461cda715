"""The timeline of a simulation: entries in chronological order."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class TimelineEvent(StrEnum):
    """The kind of a timeline entry, named after the Kubernetes event of the same meaning where there is one."""

    CREATED = "Created"
    GATED = "SchedulingGated"
    SCHEDULED = "Scheduled"
    WAITING = "WaitingOnPermit"
    FAILED = "FailedScheduling"
    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    DELETED = "Deleted"


class TimelineEntry(msgspec.Struct, frozen=True):
    """An entry of the timeline; answers contain it unchanged."""

    time: Annotated[datetime, Meta(description="The time on the virtual clock.")]
    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    event: Annotated[TimelineEvent, Meta(description="The kind of the event.")]
    node: Annotated[str, Meta(description="The node of the event; empty if there is none.")]
    why: Annotated[str, Meta(description="The reason; empty if there is none.")]
