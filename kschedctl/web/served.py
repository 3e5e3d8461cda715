"""The state of the server: the current cluster, its processes, its jobs and its listeners."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from litestar import Litestar

from kschedctl.watch.feed import FeedChanges
from kschedctl.web.events import Event, Events
from kschedctl.web.jobs import Job, Jobs, job_event
from kschedctl.web.settings import ServeSettings
from kschedctl.web.source import ClusterSource
from kschedctl.web.workers.messages import Result
from kschedctl.web.workers.pool import Pool

#: The time between two events about the age of the cluster, in seconds.
_AGE_STEP: Final = 15.0


class Served:
    """The state of the server.

    Parameters
    ----------
    source : ClusterSource
        The source of the cluster.
    settings : ServeSettings
        The settings.

    Attributes
    ----------
    source : ClusterSource
        The source of the cluster, with its version, its age and its problem.
    settings : ServeSettings
        The settings.
    pool : Pool
        The processes that answer requests.
    job_pool : Pool
        The processes that run jobs.
    jobs : Jobs
        The jobs.
    events : Events
        The streams of events.
    responses : Counter
        The number of responses by status.
    """

    def __init__(self, source: ClusterSource, settings: ServeSettings) -> None:
        limits = settings.limits
        self.source = source
        self.settings = settings
        self.pool = Pool(source, limits.workers, waiting=limits.waiting, seconds=limits.seconds)
        self.job_pool = Pool(source, limits.jobs, waiting=limits.jobs_kept, seconds=limits.job_seconds, for_jobs=True)
        self.jobs = Jobs(self.job_pool, limits.jobs_kept, limits.answer_bytes, self._job_changed)
        self.events = Events(limits.streams)
        self.responses: Counter[int] = Counter()

    async def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function(cluster, *arguments, handle)`` in a process that holds the cluster, and return its value.

        The function is one of a module, and its arguments and its value can be pickled. A page is best rendered there,
        too: the server's own process then only passes text on.

        Raises
        ------
        KschedctlError
            As ``Pool.run``.
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
    async def lifespan(self, _: Litestar) -> AsyncIterator[None]:
        """Start the processes and follow the cluster, for as long as the server runs."""
        loop = asyncio.get_running_loop()

        def changed(changes: FeedChanges) -> None:
            loop.call_soon_threadsafe(self._cluster_changed, changes)

        self.source.follow(changed)
        # The server does not wait for them: requests do.
        starting = [loop.create_task(self.pool.warm()) for _ in range(self.settings.limits.workers)]
        ticking = loop.create_task(self._tick())
        try:
            yield
        finally:
            for task in (*starting, ticking):
                task.cancel()
            self.close()
            await asyncio.gather(*starting, ticking, return_exceptions=True)

    def close(self) -> None:
        """End everything that the server started."""
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

    def _job_changed(self, job: Job) -> None:
        self.events.publish(job_event(job))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_AGE_STEP)
            self.events.publish(self.cluster_event())
