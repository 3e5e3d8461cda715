"""List requests: all objects of a kind, in pages, at one resource version."""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from kschedctl.common.errors import ClusterError, InputError
from kschedctl.common.findings import Location
from kschedctl.objects.coordination import NODE_LEASES
from kschedctl.objects.event import Event
from kschedctl.objects.meta import ApiObject, Int64
from kschedctl.sources.live.api_server import Connection
from kschedctl.sources.live.discovery import Served
from kschedctl.sources.live.failures import GoneError
from kschedctl.sources.snapshot.decoding import decode
from kschedctl.sources.snapshot.original_objects import OriginalObjects

#: kube-scheduler does not watch pods that have finished (``scheduler.NewInformerFactory``).
_FIELD_SELECTORS: Final = {
    "Pod": "status.phase!=Succeeded,status.phase!=Failed",
    # Leases of nodes are heartbeats, not elections.
    "Lease": f"metadata.namespace!={NODE_LEASES}",
    "Event": "type=Warning",
}
#: The number of attempts to read a list in pages. After that the list is requested without pages, so it cannot expire.
_PAGED_TRIES: Final = 3
#: The maximum number of successive empty pages. A server may send empty pages when it filters objects out.
_MOST_EMPTY_PAGES: Final = 20

Objects = list[tuple[ApiObject, Location]]


class Listing(NamedTuple):
    """All objects of a kind."""

    #: The objects in the server's order, each with a position that names the context and the kind.
    objects: Objects
    resource_version: str
    #: The only namespace that was listed; empty for all.
    namespace: str = ""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    # "continue" is a keyword.
    next_page: str = msgspec.field(default="", name="continue")
    remaining_item_count: Int64 | None = None
    resource_version: str = ""


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


#: The decoder of pages. It is created at import, because msgspec crashes if threads use a type during its inspection.
_PAGES: Final = msgspec.json.Decoder(_Page)


def list_objects(
    connection: Connection,
    served: Served,
    *,
    page_size: int,
    listed: Callable[[int, int], None],
    written: OriginalObjects | None = None,
    unreadable: Callable[[str], None] | None = None,
) -> Listing:
    """List all objects of a kind.

    Args:
        page_size: The number of objects per page; 0 for a single request.
        listed: Called after every page with the number of objects read so far and the number of remaining objects.
        written: The store for the objects as the server sent them.
        unreadable: Called with the problem of each object that is not valid for its kind and left out; by default
            it is an error.

    Raises ForbiddenError, NotServedError if the user is not allowed to list the kind, or the server does not serve
        it.
    Raises ClusterError if the request fails, the response is not a list, an object is not valid for its kind, or
        the pages do not end.
    """
    for _ in range(_PAGED_TRIES):
        try:
            return _read_pages(connection, served, page_size, listed, written, unreadable)
        except GoneError:
            # The list has expired on the server. Pages of two resource versions cannot be combined: start again.
            continue
    return _read_pages(connection, served, 0, listed, written, unreadable)


def _read_pages(
    connection: Connection,
    served: Served,
    page_size: int,
    listed: Callable[[int, int], None],
    written: OriginalObjects | None,
    unreadable: Callable[[str], None] | None,
) -> Listing:
    out: Objects = []
    names: set[tuple[str, str]] = set()
    limit = str(page_size) if page_size else ""
    next_page = ""
    n_empty = n_items = 0
    while True:
        page = _page(connection, served, limit, next_page)
        n_before = len(names)
        for item in page.items or ():
            n_items += 1
            place = Location(f"context {connection.name}, {served.plural}", item=n_items)
            try:
                obj = decode(item, served.type_)
            except InputError as error:
                if unreadable is not None:
                    unreadable(error.at(place).summary)
                    continue
                raise ClusterError.like(error.at(place)) from None
            if isinstance(obj, Event):
                obj = obj.short()
            out.append((obj, place))
            if written is not None:
                written.keep(obj, item)
            names.add((obj.namespace, obj.name))
        listed(n_items, page.metadata.remaining_item_count or 0)
        n_empty = 0 if page.items else n_empty + 1
        following = page.metadata.next_page
        if not following:
            return Listing(out, page.metadata.resource_version)
        if following == next_page or n_empty > _MOST_EMPTY_PAGES or (page.items and len(names) == n_before):
            raise ClusterError(f"{connection.host}{served.path} does not end: its pages contain nothing new")
        next_page = following


def field_selector(kind: str) -> str:
    """Return the field selector for requests of a kind; empty for all objects."""
    return _FIELD_SELECTORS.get(kind, "")


def _page(connection: Connection, served: Served, limit: str, next_page: str) -> _Page:
    selector = field_selector(served.kind)
    answer = connection.get(served.path, limit=limit, fieldSelector=selector, **{"continue": next_page})
    try:
        return _PAGES.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterError(f"{connection.host}{served.path} does not respond with a list: {error}") from None
