"""A pool of worker processes: a limited number of tasks at a time, and a limited number that wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from kschedctl.watch.feed import FeedChanges
from kschedctl.web.errors import BrokenWorkerError, BusyError, TookTooLongError
from kschedctl.web.feed_changes import merge
from kschedctl.web.workers.messages import Failure, Progress, Result
from kschedctl.web.workers.worker import NotReceivedError, Worker, WorkerDiedError

#: The time that a cancelled task has to end before its process is killed, in seconds.
_GRACE: Final = 5.0


class ClusterState(Protocol):
    """The current cluster, as the pool hands it to new processes."""

    @property
    def version(self) -> int:
        """The version of the cluster."""

    def start(self) -> bytes:
        """Return the first message to a worker, pickled; it may be called in any thread."""


class Turns:
    """A semaphore whose places users get in turn, so that nobody waits for all tasks of another user.

    Parameters
    ----------
    places : int
        The number of places.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        #: The tasks that wait, by user; the user whose turn is next comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def locked(self) -> bool:
        """Report whether a task would have to wait."""
        return not self._free

    async def acquire(self, user: str = "") -> None:
        """Wait for a place."""
        if self._free:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a place back: the first task of the next user gets it."""
        while self._waiting:
            user, tasks = next(iter(self._waiting.items()))
            place = tasks.popleft()
            del self._waiting[user]
            if tasks:
                self._waiting[user] = tasks
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class Pool:
    """A pool of worker processes.

    Parameters
    ----------
    cluster : ClusterState
        The current cluster.
    size : int
        The number of processes; each is started when it is first needed.
    waiting : int
        The number of tasks that may wait for a process.
    seconds : float
        The longest time for a task, in seconds. It includes the wait for a process, unless the tasks are jobs.
    for_jobs : bool
        True if the tasks are jobs, which nobody waits for.
    """

    def __init__(
        self, cluster: ClusterState, size: int, *, waiting: int, seconds: float, for_jobs: bool = False
    ) -> None:
        self._cluster = cluster
        self._free = Turns(size)
        self._most_waiting = waiting
        self._seconds = seconds
        self._for_jobs = for_jobs
        self._waiting = 0
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._has_started = False
        self._ending: set[asyncio.Future[Any]] = set()

    @property
    def waiting(self) -> int:
        """The number of tasks that wait for a process."""
        return self._waiting

    @property
    def running(self) -> int:
        """The number of tasks that are running."""
        return len(self._workers) - len(self._idle)

    @property
    def is_warm(self) -> bool:
        """True if a process has the cluster."""
        return self._has_started

    async def warm(self) -> None:
        """Start a process, so that the first task need not wait for it."""
        await self._free.acquire()
        try:
            self._idle.append(await self._worker())
        finally:
            self._free.release()

    def changed(self, changes: FeedChanges) -> None:
        """Take changes of the cluster, which each process receives with its next task."""
        for worker in self._workers:
            merge(worker.pending, changes)

    async def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progressed: Callable[[Progress], None] = lambda progress: None,
        started: Callable[[], None] = lambda: None,
        user: str = "",
    ) -> Result:
        """Call a function with the cluster, further arguments and a handle in a process, and return its result.

        If the caller is cancelled, the task is cancelled as well.

        Parameters
        ----------
        function : callable
            A function of a module, which can be pickled like its arguments and its result.
        progressed : callable
            Receives the progress.
        started : callable
            Called when the wait is over: a process runs the task, or is started for it.
        user : str
            The user whom the task is for; users that wait get processes in turn.

        Raises
        ------
        KschedctlError
            The error that the function raised.
        BusyError
            If too many tasks are waiting.
        TookTooLongError
            If the time is over.
        BrokenWorkerError
            If the process died, or the function has a bug.
        """
        if self._free.locked() and self._waiting >= self._most_waiting:
            raise BusyError
        try:
            async with asyncio.timeout(None if self._for_jobs else self._seconds) as limit:
                try:
                    reply = await self._run(function, arguments, progressed, started, user, limit)
                except NotReceivedError:
                    reply = await self._run(function, arguments, progressed, started, user, limit)
        except TimeoutError:
            raise TookTooLongError(self._seconds, is_job=self._for_jobs) from None
        except WorkerDiedError:
            raise BrokenWorkerError("the process of this request was killed, possibly because memory ran out") from None
        if isinstance(reply, Failure):
            raise reply.error or BrokenWorkerError()
        return reply

    async def _run(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        progressed: Callable[[Progress], None],
        started: Callable[[], None],
        user: str,
        limit: asyncio.Timeout,
    ) -> Result | Failure:
        self._waiting += 1
        try:
            await self._free.acquire(user)
        finally:
            self._waiting -= 1
        try:
            started()
            if self._for_jobs:
                limit.reschedule(asyncio.get_running_loop().time() + self._seconds)
            worker = await self._worker()
        except BaseException:
            self._free.release()
            raise
        running = asyncio.ensure_future(worker.run(function, arguments, self._cluster.version, progressed))
        running.add_done_callback(lambda done: self._give_back(worker, done))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if not running.done():
                worker.cancel()
                ending = asyncio.ensure_future(self._end(worker, running))
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)
            raise

    async def _worker(self) -> Worker:
        while self._idle:
            idle = self._idle.pop()
            if idle.is_alive:
                return idle
            self._discard(idle)
        worker = Worker()
        # From here on it needs every change; those before its start may be applied twice, which changes nothing.
        self._workers.add(worker)
        try:
            await worker.start(self._cluster.start)
        except BaseException:
            self._discard(worker)
            raise
        self._has_started = True
        return worker

    def _give_back(self, worker: Worker, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._discard(worker)
        else:
            self._idle.append(worker)
        self._free.release()

    def _discard(self, worker: Worker) -> None:
        self._workers.discard(worker)
        worker.kill()

    async def _end(self, worker: Worker, running: asyncio.Future[Any]) -> None:
        """Wait for the end of a cancelled task, and kill its process if the task does not end."""
        with suppress(Exception):
            _, pending = await asyncio.wait([running], timeout=_GRACE)
            if pending:
                worker.kill()

    def close(self) -> None:
        """Kill all processes."""
        for worker in tuple(self._workers):
            self._discard(worker)
        self._idle.clear()
