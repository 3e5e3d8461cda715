"""All objects of a kind, page by page, as of one resource version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kschedctl.api.meta import ApiObject
from kschedctl.errors import ClusterError, InputError, SnapshotError
from kschedctl.findings.location import Location
from kschedctl.live.connection import Connection, GoneError
from kschedctl.live.discovery import Served
from kschedctl.snapshot.conform import decode

#: kube-scheduler does not watch pods that have finished (``scheduler.NewInformerFactory``).
_FIELD_SELECTORS: Final = {"Pod": "status.phase!=Succeeded,status.phase!=Failed"}
#: How often a list is begun anew in pages before it is asked for at once, which cannot grow too old.
_PAGED_TRIES: Final = 3

Objects = list[tuple[ApiObject, Location]]


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    # "continue" is a keyword.
    next_page: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


def list_objects(
    connection: Connection, served: Served, *, page_size: int, listed: Callable[[int, int], None]
) -> Objects:
    """List all objects of a kind.

    Parameters
    ----------
    connection : Connection
        The server.
    served : Served
        The kind.
    page_size : int
        How many are asked for at a time.
    listed : callable
        Is called after every page with the number of objects so far and of those to come.

    Returns
    -------
    list of (object, place)
        In the server's order. Their places are named after the context and the kind.

    Raises
    ------
    ForbiddenError, NotServedError
        Where the user may not list the kind, or the server does not have it.
    ClusterError
        Where the server goes away, or answers with what is no list.
    SnapshotError
        Where an object is not as its kind must be.
    """
    for _ in range(_PAGED_TRIES):
        try:
            return _read_pages(connection, served, page_size, listed)
        except GoneError:
            # The server has forgotten the state that the list was begun in; half of one and half of another is no list.
            continue
    return _read_pages(connection, served, 0, listed)


def _read_pages(connection: Connection, served: Served, page_size: int, listed: Callable[[int, int], None]) -> Objects:
    out: Objects = []
    limit = str(page_size) if page_size else ""
    next_page = ""
    while True:
        answer = connection.get(
            served.path,
            limit=limit,
            fieldSelector=_FIELD_SELECTORS.get(served.kind, ""),
            **{"continue": next_page},
        )
        try:
            page = msgspec.json.decode(answer, type=_Page)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ClusterError(f"{connection.host}{served.path} does not answer with a list: {error}") from None
        for item in page.items or ():
            place = Location(f"context {connection.name}, {served.plural}", item=len(out) + 1)
            try:
                out.append((decode(item, served.type_), place))
            except InputError as error:
                raise SnapshotError.together(error.findings).at(place) from None
        listed(len(out), page.metadata.remaining_item_count or 0)
        next_page = page.metadata.next_page
        if not next_page:
            return out
