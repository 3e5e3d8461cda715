"""The timeline of a simulation: entries in chronological order."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from kschedctl.common.frames import Cell, ColumnType, Tabular


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


class TimelineEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the timeline; answers contain it unchanged."""

    time: Annotated[datetime, Meta(description="The time on the virtual clock.")]
    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    event: Annotated[TimelineEvent, Meta(description="The kind of the event.")]
    node: Annotated[str, Meta(description="The node of the event; empty if there is none.")]
    why: Annotated[str, Meta(description="The reason; empty if there is none.")]
    group: Annotated[
        str, Meta(description="The pod's PodGroup, as namespace/name; left out for pods that are tried by themselves.")
    ] = ""


class TimelineTable(Tabular):
    """Base of the objects with a timeline, which is their table: one row per event."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def timeline(self) -> Sequence[TimelineEntry]:
            """The events."""

    def column_types(self) -> dict[str, ColumnType]:
        return _COLUMNS

    def table(self) -> Iterator[tuple[Cell, ...]]:
        for entry in self.timeline:
            yield entry.time, entry.pod, str(entry.event), entry.node, entry.why, entry.group


_COLUMNS: Final[dict[str, ColumnType]] = {
    "time": datetime,
    "pod": str,
    "event": str,
    "node": str,
    "why": str,
    "group": str,
}
