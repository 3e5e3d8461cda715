"""A reader of the objects of a running cluster, with the interface of ``SnapshotReader``."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Final, TypeVar

from kschedctl.common.errors import ClusterError, SnapshotError
from kschedctl.common.findings import Location
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.kinds import EVIDENCE_KINDS, LISTED_KINDS, is_namespaced
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.live.api_server import CONNECTIONS, Connection
from kschedctl.sources.live.discovery import Served, served_kinds, server_version
from kschedctl.sources.live.failures import ForbiddenError, NotServedError
from kschedctl.sources.live.kubeconfig import LiveContext, context_namespace
from kschedctl.sources.live.limits import Threads, result
from kschedctl.sources.live.lists import Listing, list_objects
from kschedctl.sources.snapshot.decoding import build_decoders
from kschedctl.sources.snapshot.load import Snapshot, build_snapshot
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.summary import ReadSummary

# The progress of reading a cluster, as one line.

#: The time without a response after which the line reports the wait, in seconds.
_QUIET_SECONDS: Final = 2.0


class Progress:
    """A progress line of a reading, which several threads can update.

    Args:
        show: Called with a line that replaces the previous one.
    """

    def __init__(self, name: str, show: Callable[[str], None]) -> None:
        self._name = name
        self._show = show
        self._lock = Lock()
        self._counts: dict[str, tuple[int, int]] = {}
        self._n_kinds = 0
        self._heard = time.monotonic()

    def begin(self, n_kinds: int = 0) -> None:
        """Begin the progress line; call this again with the number of kinds once that is known."""
        with self._lock:
            self._n_kinds = n_kinds
            self._heard = time.monotonic()
            if not n_kinds:
                self._show(self._line())

    def listed(self, plural: str, so_far: int, to_come: int) -> None:
        """Show the numbers of read and remaining objects of a kind."""
        with self._lock:
            self._counts[plural] = (so_far, to_come)
            self._heard = time.monotonic()
            self._show(self._line())

    def waiting(self) -> None:
        """Show the time since the last response, if it is at least 2 s."""
        with self._lock:
            seconds = time.monotonic() - self._heard
            if seconds >= _QUIET_SECONDS:
                self._show(f"{self._line()}, no response for {seconds:.0f} s")

    def end(self) -> None:
        """Clear the line."""
        with self._lock:
            self._show("")

    def _line(self) -> str:
        if not self._n_kinds:
            return f"reading {self._name}"
        done = sum(not to_come for _, to_come in self._counts.values())
        parts = [f"reading {self._name}: {done} of {self._n_kinds} kinds"]
        parts += [f"{n} of {n + to_come} {name}" for name, (n, to_come) in self._counts.items() if to_come]
        return ", ".join(parts)


T = TypeVar("T")
_TICK_SECONDS: Final = 0.5


def load_live(
    live: LiveContext, *, more: Iterable[tuple[ApiObject, Location]] = (), written: OriginalObjects | None = None
) -> Snapshot:
    """Read a running cluster.

    Args:
        written: The store for the objects as the server sent them.

    Raises InputError if the context cannot be used, or an object of ``more`` is not valid for its kind.
    Raises ClusterError if the cluster cannot be reached or does not respond, or one of its objects is not valid for
        its kind.
    """
    reader = LiveReader(live, written)
    source = f"context {reader.name}"
    try:
        return build_snapshot(reader, (source,), more=more)
    except SnapshotError as error:
        if str(error.findings[0].place).startswith(f"{source}, "):
            raise ClusterError.like(error) from None
        raise


class LiveReader:
    """An iterable of the objects of a running cluster.

    summary: The summary of the reading; complete once the reader is exhausted.

    Args:
        written: The store for the objects as the server sent them.

    Raises InputError, ClusterError if the context cannot be used.

    Every kind is listed at one resource version. The lists are read concurrently, but not at the same resource version;
    the scheduler's caches are filled in the same way. Daemon threads send all requests, so the caller can stop the
    iteration at any time.

    A kind that the user is not allowed to list in all namespaces is listed in one.
    """

    def __init__(self, live: LiveContext, written: OriginalObjects | None = None) -> None:
        self._written = written
        self._connection = Connection(live)
        self._page_size = live.page_size
        self._namespace = live.namespace or context_namespace(live) or DEFAULT_NAMESPACE
        self.name = self._connection.name
        self._progress = Progress(self.name, live.show_progress)
        self.summary = ReadSummary()

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        summary = self.summary
        summary.captured_at = datetime.now(UTC)
        build_decoders(LISTED_KINDS.values())
        self._connection.limits.begin()
        self._progress.begin()
        threads = Threads(CONNECTIONS)
        try:
            summary.git_version = self._result(threads.submit(lambda: server_version(self._connection)))
            kinds = self._result(threads.submit(lambda: served_kinds(self._connection)))
            self._progress.begin(len(kinds))
            # The cluster has no objects of the kinds that its server does not serve.
            summary.listed |= {type_.__name__: "" for type_ in LISTED_KINDS.values()}
            lists = [(served, threads.submit(partial(self._listing, served))) for served in kinds]
            while lists:
                # Drop each list once it has been yielded, to free its memory.
                yield from self._objects(*lists.pop(0))
        finally:
            self._connection.close()
            threads.close()
            self._progress.end()

    def _result(self, future: Future[T]) -> T:
        def meanwhile() -> None:
            overdue = self._connection.overdue()
            if overdue is not None:
                raise overdue
            self._progress.waiting()

        return result(future, meanwhile, _TICK_SECONDS)

    def _objects(self, served: Served, listing: Future[Listing]) -> Iterator[tuple[ApiObject, Location]]:
        try:
            found = self._result(listing)
        except ForbiddenError:
            self.summary.not_listed.add(served.kind)
            del self.summary.listed[served.kind]
            return
        except NotServedError:
            return
        if found.namespace:
            self.summary.not_listed.add(served.kind)
            self.summary.listed[served.kind] = found.namespace
        self.summary.n_of_kind[served.kind] += len(found.objects)
        yield from found.objects

    def _listing(self, served: Served) -> Listing:
        """List a kind everywhere, or in one namespace if the user is not allowed to."""
        ask = partial(
            list_objects,
            self._connection,
            page_size=self._page_size,
            listed=partial(self._progress.listed, served.plural),
            written=self._written,
            # A project may change the fields of its kinds, and no decision depends on them.
            unreadable=(lambda _: None) if served.type_ in EVIDENCE_KINDS.values() else None,
        )
        try:
            return ask(served)
        except ForbiddenError:
            if not is_namespaced(served.type_):
                raise
            return ask(served.within(self._namespace))._replace(namespace=self._namespace)
