"""The state of the server: the current cluster, its processes, its jobs and its listeners."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event as SourceEvent
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.coordination import Lease, LeaseCandidate
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.watch.cache import Cache
from kschedctl.watch.feed import Feed, FeedChanges
from kschedctl.watch.loop import MOST_AGE, SETTLE
from kschedctl.watch.run import start as start_watch
from kschedctl.web.events import Event, Events
from kschedctl.web.jobs import Jobs, job_event
from kschedctl.web.settings import ServeSettings
from kschedctl.web.workers.messages import Result, WorkerStart, pickled
from kschedctl.web.workers.pool import Pool

if TYPE_CHECKING:
    from litestar import Litestar

# The sources of the cluster that is served: a snapshot, or a running cluster that is followed.

#: The longest wait for a change, in seconds.
_TICK: Final = 0.25
#: Kinds that change every few seconds in any cluster: their changes make no new version.
_QUIET: Final[frozenset[type[ApiObject]]] = frozenset({Lease, LeaseCandidate})
#: The namespace of the heartbeats of nodes, which no answer depends on.
_HEARTBEATS: Final = "kube-node-lease"


class ClusterSource(Protocol):
    """The source of the cluster."""

    @property
    def name(self) -> str:
        """The name of the cluster: its context, or the paths of its snapshot."""

    @property
    def is_live(self) -> bool:
        """True if the cluster moves."""

    @property
    def cluster(self) -> Cluster:
        """The current cluster."""

    @property
    def version(self) -> int:
        """The version of the cluster, which grows with every change that is published."""

    @property
    def age(self) -> float | None:
        """The time since the cluster was last known to be up to date, in seconds; ``None`` if unknown."""

    @property
    def problem(self) -> str:
        """The reason why the cluster is out of date; empty if it is not."""

    def start(self) -> bytes:
        """Return the first message to a worker, pickled; it may be called in any thread."""

    def follow(self, changed: Callable[[FeedChanges], None]) -> None:
        """Begin to follow the cluster; ``changed`` receives all changes, in a thread of its own."""

    def publish(self, changes: FeedChanges) -> None:
        """Count changes as a new version, once all workers will receive them before their next task."""

    def close(self) -> None:
        """Stop following the cluster."""


class UnmovedSource:
    """The part of a source that all snapshots share: they never change."""

    is_live: Final = False
    version: Final = 1
    problem: Final = ""

    def follow(self, changed: Callable[[FeedChanges], None]) -> None:
        """Do nothing."""

    def publish(self, changes: FeedChanges) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class SnapshotSource(UnmovedSource):
    """A snapshot that the server reads.

    Args:
        request: The snapshot, and the rules that apply to it.

    Raises KschedctlError if the snapshot cannot be read, or a scheduler cannot run over it.
    """

    def __init__(self, request: ClusterRequest) -> None:
        handle = AnalysisHandle()
        snapshot = request.read(handle)
        loaded = request.require_nodes(request.over(snapshot, handle))
        loaded.require_nodes()
        self.name = ", ".join(request.source.paths)
        self.cluster = loaded.cluster
        self._start = pickled(WorkerStart(self.version, snapshot, request, {}))

    @property
    def age(self) -> float | None:
        """The time since the snapshot was taken, in seconds; ``None`` if unknown."""
        taken = self.cluster.taken_at
        return None if taken is None else (datetime.now(UTC) - taken).total_seconds()

    def start(self) -> bytes:
        return self._start


class UnreadSnapshot(UnmovedSource):
    """A snapshot that only worker processes read; their start raises the error if they cannot.

    Args:
        request: The snapshot, and the rules that apply to it.

    Raises InputError if there is no such snapshot.
    """

    age: Final[float | None] = None

    def __init__(self, request: ClusterRequest) -> None:
        for path in request.source.paths:
            if not os.path.lexists(path):
                raise InputError("there is no such file or folder", where=path)
        self.name = ", ".join(request.source.paths)
        self._request = request

    @property
    def cluster(self) -> Cluster:
        return self._request.load(AnalysisHandle()).cluster

    def start(self) -> bytes:
        return pickled(WorkerStart(self.version, None, self._request, {}))


class LiveSource:
    """A running cluster, which is followed by watches.

    Args:
        request: The running cluster, and the rules that apply to it.

    Raises KschedctlError if the cluster cannot be reached at the start; later failures are retried without end.
    """

    is_live: Final = True

    def __init__(self, request: ClusterRequest) -> None:
        live = replace(request.source.live(AnalysisHandle()), snapshot_would_do=False)
        watched = start_watch(live, not_watched=frozenset())
        loaded = request.over(watched.snapshot, AnalysisHandle())
        self.name = watched.name
        self.version = 1
        self._request = request
        self._snapshot: Snapshot = watched.snapshot
        self._cache = Cache(loaded.cluster, left_out=watched.left_out)
        self._feed: Feed = watched.feed
        self._stopped = SourceEvent()
        self._thread: Thread | None = None
        self._broken = ""
        # Derived clusters share tables that grow, so that none can be pickled meanwhile.
        self._lock = Lock()

    @property
    def cluster(self) -> Cluster:
        return self._cache.cluster

    @property
    def age(self) -> float | None:
        """The time since the stalest kind was last up to date, in seconds."""
        return self._feed.age

    @property
    def problem(self) -> str:
        trouble = self._feed.trouble
        if self._broken or trouble is not None:
            return self._broken or (trouble.problem if trouble is not None else "")
        return f"no response of the API server for {self._feed.age:.0f} s" if self._feed.age > MOST_AGE else ""

    def start(self) -> bytes:
        with self._lock:
            snapshot = structs.replace(self._snapshot, cluster=self._cache.cluster)
            return pickled(WorkerStart(self.version, snapshot, self._request, dict(self._cache.left_out)))

    def follow(self, changed: Callable[[FeedChanges], None]) -> None:
        self._thread = Thread(target=self._run, args=(changed,), name="cluster", daemon=True)
        self._thread.start()

    def _run(self, changed: Callable[[FeedChanges], None]) -> None:
        try:
            while not self._stopped.is_set():
                changes = _without_heartbeats(self._feed.take(_TICK, SETTLE))
                with self._lock:
                    moved = bool(changes) and self._cache.apply(changes)
                if moved:
                    changed(changes)
        except Exception as bug:
            self._broken = f"the cluster is not followed any more: {type(bug).__name__}: {bug}"
            raise

    def publish(self, changes: FeedChanges) -> None:
        if not _QUIET.issuperset((*changes.lists, *changes.objects)):
            self.version += 1

    def close(self) -> None:
        self._stopped.set()
        self._feed.stop()


def _without_heartbeats(changes: FeedChanges) -> FeedChanges:
    of_leases = changes.objects.get(Lease)
    if of_leases is not None:
        for name in [name for name in of_leases if name[0] == _HEARTBEATS]:
            del of_leases[name]
        if not of_leases:
            del changes.objects[Lease]
    return changes


#: The time between two events about the age of the cluster, in seconds.
_AGE_STEP: Final = 15.0


class Served:
    """The state of the server.

    source: The source of the cluster, with its version, its age and its problem.
    responses: The number of responses by status.
    starting: The starts of the processes that answer requests.
    closing: The ends of what others have started beside it.
    """

    def __init__(self, source: ClusterSource, settings: ServeSettings) -> None:
        limits = settings.limits
        self.source = source
        self.settings = settings
        self.pool = Pool(source, limits.workers, waiting=limits.waiting, seconds=limits.seconds)
        self.job_pool = self.pool
        if limits.jobs:
            waiting, seconds = limits.jobs_kept, limits.job_seconds
            self.job_pool = Pool(source, limits.jobs, waiting=waiting, seconds=seconds, for_jobs=True)
        self.jobs = Jobs(
            self.job_pool, limits.jobs_kept, limits.answer_bytes, lambda job: self.events.publish(job_event(job))
        )
        self.events = Events(limits.streams)
        self.responses: Counter[int] = Counter()
        self.starting: list[asyncio.Task[None]] = []
        self.closing: list[Callable[[], None]] = []

    async def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function(cluster, *arguments, handle)`` in a process that holds the cluster, and return its value.

        The function is one of a module, and its arguments and its value can be pickled. A page is best rendered there,
        too: the server's own process then only passes text on.

        Raises KschedctlError as ``Pool.run``.
        """
        return (await self.reply(function, *arguments)).value

    async def reply(self, function: Callable[..., Any], *arguments: Any) -> Result:
        """Call a function as ``ask`` does, and return its value with its notices and the version of the cluster."""
        return await self.pool.run(function, *arguments)

    @property
    def version(self) -> int:
        """The version of the cluster, which grows with every change."""
        return self.source.version

    def state(self) -> dict[str, Any]:
        """Return version, age and problem of the cluster, as events and answers show them."""
        source = self.source
        age = source.age
        return {
            "version": source.version,
            "live": source.is_live,
            "age": None if age is None else round(age, 1),
            "problem": source.problem,
        }

    def cluster_event(self) -> Event:
        """Return the event about the state of the cluster."""
        return Event("cluster", self.state())

    @asynccontextmanager
    async def lifespan(self, _: "Litestar | None" = None) -> AsyncIterator[None]:
        """Start the processes and follow the cluster, for as long as the server runs."""
        loop = asyncio.get_running_loop()

        def changed(changes: FeedChanges) -> None:
            loop.call_soon_threadsafe(self._cluster_changed, changes)

        self.source.follow(changed)
        # The server does not wait for them: requests do.
        self.starting = [loop.create_task(self.pool.warm()) for _ in range(self.settings.limits.workers)]
        ticking = loop.create_task(self._tick())
        try:
            yield
        finally:
            for task in (*self.starting, ticking):
                task.cancel()
            self.close()
            await asyncio.gather(*self.starting, ticking, return_exceptions=True)

    def close(self) -> None:
        """End everything that the server started."""
        for end in self.closing:
            end()
        self.jobs.close()
        self.events.close()
        self.source.close()
        self.pool.close()
        self.job_pool.close()

    def _cluster_changed(self, changes: FeedChanges) -> None:
        self.pool.changed(changes)
        self.job_pool.changed(changes)
        # From here on a request gets the new cluster.
        self.source.publish(changes)
        self.events.publish(self.cluster_event())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_AGE_STEP)
            self.events.publish(self.cluster_event())
