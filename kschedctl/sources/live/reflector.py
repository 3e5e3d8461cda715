"""A reflector: lists the objects of a kind and watches their changes until stopped (client-go's ``Reflector``).

The reflector lists the kind and starts a watch at the resource version of the list. When the watch ends or breaks off,
another watch starts at the last resource version seen. The kind is listed again only if that resource version has
expired on the server (410 Gone).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from threading import Event
from time import monotonic
from typing import Final, NamedTuple, Protocol

import msgspec

from kschedctl.common.errors import ClusterError, InputError, KschedctlError
from kschedctl.common.findings import Location
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.failures import ForbiddenError, GoneError, NotServedError
from kschedctl.sources.live.lists import field_selector, list_objects
from kschedctl.sources.snapshot.decoding import decode

# Watch requests: the changes of the objects of a kind, as an API server streams them.

_GONE: Final = 410


class EventType(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    #: All changes up to the event's resource version have been sent.
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class WatchEvent(NamedTuple):
    """A watch event."""

    #: True if the object was deleted or does not match the field selector any more.
    deleted: bool
    #: The object after the change, or its last state before a deletion; ``None`` for a bookmark, and for an object
    #: that is not valid for its kind.
    obj: ApiObject | None
    #: The resource version up to which all changes have been sent.
    resource_version: str
    #: The reason why the object is not valid for its kind; empty for a valid one.
    problem: str = ""


class _Line(msgspec.Struct):
    type: EventType
    object: msgspec.Raw


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Versioned(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Status(msgspec.Struct):
    code: int = 0
    message: str = ""


#: The decoders of events, created before threads use them.
_LINES: Final = msgspec.json.Decoder(_Line)
_VERSIONED: Final = msgspec.json.Decoder(_Versioned)
_STATUSES: Final = msgspec.json.Decoder(_Status)


@contextmanager
def open_watch(
    connection: Connection, served: Served, resource_version: str, *, seconds: int, idle_seconds: float
) -> Iterator[Iterator[WatchEvent]]:
    """Watch the changes of the objects of a kind after a resource version.

    Args:
        resource_version: The resource version of a list or of the last event.
        seconds: The duration after which the server ends the watch, in seconds.
        idle_seconds: The longest time without an event or bookmark, in seconds, before the connection counts as
            broken.

    Raises GoneError if the resource version has expired on the server.
    Raises ForbiddenError, NotServedError if the user is not allowed to watch the kind, or the server does not serve
        it.
    Raises ClusterError if the connection breaks, no data arrives for ``idle_seconds``, or the server sends
        something else than events.
    """
    query = {
        "watch": "1",
        "resourceVersion": resource_version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
        "fieldSelector": field_selector(served.kind),
    }
    with connection.lines(served.path, idle_seconds, **query) as lines:
        place = Location(f"context {connection.name}, {served.plural}")
        yield (_event(line, served, f"{connection.host}{served.path}", place) for line in lines)


def _event(line: bytes, served: Served, name: str, place: Location) -> WatchEvent:
    try:
        told = _LINES.decode(line)
        if told.type is EventType.ERROR:
            status = _STATUSES.decode(told.object)
            said = "".join(char if char.isprintable() else " " for char in status.message)
            raise (GoneError if status.code == _GONE else ClusterError)(f"{name} ends the watch: {said}")
        version = _VERSIONED.decode(told.object).metadata.resource_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterError(f"{name} does not send watch events like an API server: {error}") from None
    if told.type is EventType.BOOKMARK:
        return WatchEvent(False, None, version)
    try:
        return WatchEvent(told.type is EventType.DELETED, decode(told.object, served.type_), version)
    except InputError as error:
        return WatchEvent(False, None, version, error.at(place).summary)


#: The time after which a working watch resets the pauses between retries, in seconds.
_GOOD_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorSettings:
    """The parameters of a reflector."""

    #: The number of objects per page of a list request.
    page_size: int = 500
    #: The duration of a watch, in seconds. A random time of up to the same length is added, so that not all
    #: watches end at once.
    watch_seconds: int = 300
    #: The longest time without an event, in seconds. The server sends a bookmark about every minute.
    idle_seconds: float = 150.0
    #: The first and the longest pause before a retry after a failure, in seconds. The pause doubles with each
    #: retry, and a random time of up to the same length is added.
    first_pause: float = 0.25
    longest_pause: float = 20.0


class Listener(Protocol):
    """The callbacks of a reflector. They run in the reflectors' threads; calls for one kind do not overlap."""

    def listed(self, served: Served, objects: Sequence[ApiObject]) -> None:
        """Handle a list of all objects of a kind."""

    def changed(self, served: Served, obj: ApiObject) -> None:
        """Handle an object that was created or modified."""

    def gone(self, served: Served, obj: ApiObject) -> None:
        """Handle an object that was deleted or does not match the field selector any more."""

    def unreadable_object(self, served: Served, problem: str) -> None:
        """Handle an object that is not valid for its kind; a list clears the problems of its kind first."""

    def heard(self, served: Served) -> None:
        """Handle a sign of life of the server: all changes of the kind up to the moment of the call were reported."""

    def failed(self, served: Served, error: KschedctlError) -> None:
        """Handle an error after which the reflector retries."""

    def forbidden(self, served: Served, error: KschedctlError) -> None:
        """Handle the end of the reflector: the user is not allowed to list the kind, or it is not served."""


class Reflector:
    """A reflector of one kind."""

    def __init__(
        self, connection: Connection, served: Served, listener: Listener, settings: ReflectorSettings, stopped: Event
    ) -> None:
        self._connection = connection
        self._served = served
        self._listener = listener
        self._settings = settings
        self._stopped = stopped
        self._random = Random()
        #: The last resource version seen; empty means that the kind must be listed again.
        self._version = ""
        self._was_listed = False
        self._pause = settings.first_pause

    def run(self) -> None:
        """Watch until stopped."""
        while not self._stopped.is_set():
            began = monotonic()
            try:
                if not self._version:
                    self._connection.limits.begin()
                    problems: list[str] = []
                    listing = list_objects(
                        self._connection,
                        self._served,
                        page_size=self._settings.page_size,
                        listed=lambda so_far, to_come: None,
                        unreadable=problems.append,
                    )
                    if not listing.resource_version:
                        place = f"{self._connection.host}{self._served.path}"
                        raise ClusterError(f"{place} does not report the resource version of its list")
                    self._version = listing.resource_version
                    self._was_listed = True
                    self._listener.listed(self._served, [obj for obj, _ in listing.objects])
                    for problem in problems:
                        self._listener.unreadable_object(self._served, problem)
                self._watch()
                if monotonic() - began < 1.0:
                    # As in client-go, a watch that ends within 1 s counts as failed.
                    self._wait()
            except GoneError:
                self._version = ""
                if monotonic() - began < 1.0:
                    self._wait()
            except (ForbiddenError, NotServedError) as error:
                if not self._was_listed:
                    self._listener.forbidden(self._served, error)
                    return
                self._failed(error)
            except KschedctlError as error:
                self._failed(error)

    def _watch(self) -> None:
        settings, served, listener = self._settings, self._served, self._listener
        seconds = round(settings.watch_seconds * (1 + self._random.random()))
        began = monotonic()
        with open_watch(
            self._connection, served, self._version, seconds=seconds, idle_seconds=settings.idle_seconds
        ) as events:
            listener.heard(served)
            for event in events:
                if self._stopped.is_set():
                    return
                if event.obj is not None:
                    (listener.gone if event.deleted else listener.changed)(served, event.obj)
                if event.problem:
                    listener.unreadable_object(served, event.problem)
                if event.resource_version:
                    self._version = event.resource_version
                listener.heard(served)
                if monotonic() - began > _GOOD_SECONDS:
                    self._pause = settings.first_pause

    def _failed(self, error: KschedctlError) -> None:
        if not self._stopped.is_set():
            self._listener.failed(self._served, error)
            self._wait()

    def _wait(self) -> None:
        self._stopped.wait(self._pause * (1 + self._random.random()))
        self._pause = min(2 * self._pause, self._settings.longest_pause)
