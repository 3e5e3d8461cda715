"""Watch requests: the changes of the objects of a kind, as an API server streams them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from kschedctl.common.errors import ClusterError, InputError
from kschedctl.common.findings import Location
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.live.connection import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.error_responses import GoneError
from kschedctl.sources.live.lists import field_selector
from kschedctl.sources.snapshot.decoding import decode

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
    """A watch event.

    Attributes
    ----------
    deleted : bool
        True if the object was deleted or does not match the field selector any more.
    obj : ApiObject or None
        The object after the change, or its last state before a deletion; ``None`` for a bookmark, and for an object
        that is not valid for its kind.
    resource_version : str
        The resource version up to which all changes have been sent.
    problem : str
        The reason why the object is not valid for its kind; empty for a valid one.
    """

    deleted: bool
    obj: ApiObject | None
    resource_version: str
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

    Parameters
    ----------
    connection : Connection
        The connection to the server.
    served : Served
        The kind.
    resource_version : str
        The resource version of a list or of the last event.
    seconds : int
        The duration after which the server ends the watch, in seconds.
    idle_seconds : float
        The longest time without an event or bookmark, in seconds, before the connection counts as broken.

    Raises
    ------
    GoneError
        If the resource version has expired on the server.
    ForbiddenError, NotServedError
        If the user is not allowed to watch the kind, or the server does not serve it.
    ClusterError
        If the connection breaks, no data arrives for ``idle_seconds``, or the server sends something else than events.
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
