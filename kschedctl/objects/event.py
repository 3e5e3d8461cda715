"""Events (core/v1, events.k8s.io/v1): the words of other components about an object."""

from datetime import datetime
from typing import Final

from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, ObjectMeta, Time

WARNING: Final = "Warning"
#: Reasons that are kept although their type is Normal: they say why a component does nothing, or that nodes
#: will come.
_TELLING_REASONS: Final = frozenset(
    {"NotTriggerScaleUp", "TriggeredScaleUp", "Suspended", "Unconsolidatable", "DisruptionBlocked"}
)
#: Bytes without which the text of an Event is not worth decoding.
TELLING_WORDS: Final = tuple(word.encode() for word in (WARNING, *sorted(_TELLING_REASONS)))
#: The beginning of an Event as kubectl writes it, with its keys in order: no other object of these versions has these
#: fields.
EVENT_BEGINNING: Final = (
    rb'\{\s*(?:"action"\s*:\s*"[^"\\]*"\s*,\s*)?"apiVersion"\s*:\s*"(?:v1|events\.k8s\.io/v1)"\s*,'
    rb'\s*"(?:count|deprecated(?:Count|FirstTimestamp|LastTimestamp|Source)|eventTime|firstTimestamp)"\s*:'
)
SCHEDULER: Final = "default-scheduler"


class ObjectReference(ApiStruct, frozen=True):
    """The object that an Event is about; ``namespace`` is empty for cluster-scoped kinds."""

    kind: str = ""
    namespace: str = ""
    name: str = ""


class EventSource(ApiStruct, frozen=True):
    component: str = ""


class EventSeries(ApiStruct, frozen=True):
    last_observed_time: Time | None = None
    count: Int32 = 0


class Event(ApiObject, frozen=True, kw_only=True):
    """An Event, with the fields of both API groups."""

    involved_object: ObjectReference = ObjectReference()
    regarding: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    note: str = ""
    source: EventSource = EventSource()
    deprecated_source: EventSource = EventSource()
    reporting_component: str = ""
    reporting_controller: str = ""
    event_time: Time | None = None
    last_timestamp: Time | None = None
    deprecated_last_timestamp: Time | None = None
    series: EventSeries | None = None
    count: Int32 = 0
    deprecated_count: Int32 = 0

    @property
    def is_telling(self) -> bool:
        """True for a Warning, and for the few other Events that say what a component does or does not do for a pod."""
        return self.type == WARNING or self.reason in _TELLING_REASONS

    @property
    def seen(self) -> datetime | None:
        """The last time at which the component observed it; ``None`` if it is not recorded."""
        last = self.series.last_observed_time if self.series is not None else None
        return last or self.last_timestamp or self.deprecated_last_timestamp or self.event_time

    @property
    def about(self) -> ObjectReference:
        """The object that it is about."""
        return self.involved_object if self.involved_object.kind else self.regarding

    @property
    def reporter(self) -> str:
        """The component that wrote it."""
        return (
            self.reporting_component
            or self.reporting_controller
            or self.source.component
            or self.deprecated_source.component
        )

    def is_older_than(self, other: "Event") -> bool:
        """Report whether another Event was observed later, or its time is known and that of this one is not."""
        seen, later = self.seen, other.seen
        return later is not None and (seen is None or seen < later)

    def short(self, texts: dict[str, str] | None = None) -> "Event":
        """Return the Event in the form that a cluster keeps: with the fields of core/v1, named after its object.

        The name is that of the object with kind and reporter, so that the newest Event of each replaces the others.

        Args:
            texts: The messages of other Events, of which equal ones are shared.
        """
        about, reporter, message = self.about, self.reporter, self.message or self.note
        return Event(
            metadata=ObjectMeta(name=f"{about.kind}/{about.name}/{reporter}", namespace=about.namespace),
            involved_object=about,
            type=self.type,
            reason=self.reason,
            message=texts.setdefault(message, message) if texts is not None else message,
            source=EventSource(component=reporter),
            last_timestamp=self.seen,
            count=max(self.count, self.deprecated_count, self.series.count if self.series is not None else 0),
        )


class NewestEvents(dict[tuple[ObjectReference, str], Event]):
    """The newest Event of each object and reporter; of two that were observed at the same time, the later one."""

    def add(self, event: Event) -> None:
        """Keep an Event unless a newer one is known."""
        key = event.about, event.reporter
        known = self.get(key)
        if known is None or not event.is_older_than(known):
            self[key] = event
