"""The objects of a running cluster, as ``SnapshotReader`` yields those of files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock
from typing import Final

import msgspec

from kschedctl.api.meta import ApiObject
from kschedctl.errors import ClusterError
from kschedctl.findings.location import Location
from kschedctl.live.connection import CONNECTIONS, Connection, ForbiddenError, NotServedError
from kschedctl.live.context import LiveContext
from kschedctl.live.discovery import Served, served_kinds
from kschedctl.live.lists import Objects, list_objects
from kschedctl.live.refused import refusal_warning
from kschedctl.snapshot.load import Snapshot, build_snapshot
from kschedctl.snapshot.summary import ReadSummary

_NODE: Final = "Node"


def load_live(live: LiveContext, *, more: Iterable[tuple[ApiObject, Location]] = ()) -> Snapshot:
    """Read a running cluster.

    Parameters
    ----------
    live : LiveContext
        Which.
    more : iterable of (object, place)
        Objects that are not there and shall be in the cluster.

    Raises
    ------
    InputError
        Where the context cannot be used, or an object is not as its kind must be.
    ClusterError
        Where the cluster cannot be reached or does not answer.
    """
    reader = LiveReader(live)
    return build_snapshot(reader, (f"context {reader.name}",), more=more)


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


class _AbandonedError(Exception):
    """Another list has failed, so that this one is not wanted any more."""


class LiveReader:
    """The objects of a running cluster.

    Parameters
    ----------
    live : LiveContext
        Which cluster, and how it is asked.

    Attributes
    ----------
    summary : ReadSummary
        Is complete once the reader is exhausted.
    name : str
        The name of the context.

    Raises
    ------
    InputError, ClusterError
        Where the context cannot be used.

    Notes
    -----
    Every kind is listed as of one resource version; the lists are read at the same time, not at the same version,
    which is also how the scheduler's caches are filled.
    """

    def __init__(self, live: LiveContext) -> None:
        self._live = live
        self._connection = Connection(live)
        self._lock = Lock()
        self._failed = Event()
        self._counts: dict[str, tuple[int, int]] = {}
        self.name = self._connection.name
        self.summary = ReadSummary()

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        summary = self.summary
        summary.modified = time.time()
        pool = ThreadPoolExecutor(CONNECTIONS)
        try:
            summary.git_version = self._server_version()
            kinds = served_kinds(self._connection)
            lists = [(served, pool.submit(self._list, served, len(kinds))) for served in kinds]
            while lists:
                # Each list is let go of once it has been passed on.
                yield from self._objects(*lists.pop(0))
        finally:
            self._failed.set()
            pool.shutdown(cancel_futures=True)
            self._connection.close()
            self._live.show_progress("")

    def _server_version(self) -> str:
        try:
            return msgspec.json.decode(self._connection.get("/version"), type=_Version).git_version
        except (ForbiddenError, NotServedError):
            # Some proxies do not let it pass; the kubelets' versions tell as well.
            return ""
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ClusterError(f"{self._connection.host} does not answer as an API server does: {error}") from None

    def _objects(self, served: Served, listing: Future[Objects]) -> Iterator[tuple[ApiObject, Location]]:
        try:
            objects = listing.result()
        except ForbiddenError as error:
            if served.kind == _NODE:
                raise ClusterError(f"without the nodes nothing can be said: {error}") from None
            self.summary.not_listed[served.kind] = refusal_warning(served.kind, served.plural)
            return
        except NotServedError:
            return
        self.summary.n_of_kind[served.kind] += len(objects)
        yield from objects

    def _list(self, served: Served, n_kinds: int) -> Objects:
        def listed(so_far: int, to_come: int) -> None:
            if self._failed.is_set():
                raise _AbandonedError
            self._show(served, so_far, to_come, n_kinds)

        if self._failed.is_set():
            raise _AbandonedError
        return list_objects(self._connection, served, page_size=self._live.page_size, listed=listed)

    def _show(self, served: Served, so_far: int, to_come: int, n_kinds: int) -> None:
        with self._lock:
            self._counts[served.plural] = (so_far, to_come)
            done = sum(not waiting for _, waiting in self._counts.values())
            open_ = [f"{n} of {n + waiting} {name}" for name, (n, waiting) in self._counts.items() if waiting]
            parts = [f"asking {self.name}: {done} of {n_kinds} kinds", *open_]
            self._live.show_progress(", ".join(parts))
