"""A worker process as the server sees it."""

import asyncio
import gc
import multiprocessing
import pickle
import signal
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from time import monotonic
from typing import Any, Final, TypeVar

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.watch.cache import Cache
from kschedctl.watch.feed import FeedChanges
from kschedctl.web.workers.messages import CancelTask, Failure, Progress, Result, Task, WorkerStart

# The loop of a worker process: it receives tasks and sends their results until the server closes the pipe.

T = TypeVar("T")
#: The time between two messages about progress, and between two looks for a message to cancel, in seconds.
_STEP: Final = 0.1
#: The cluster of a what-if has few objects but whole columns: left to itself, the collector frees a cycle too late.
_TASKS_BETWEEN_COLLECTIONS: Final = 16
#: Objects that live through a long task are not looked at in the other collections.
_TASKS_BETWEEN_FULL_COLLECTIONS: Final = 512


class FollowedCluster:
    """A cluster with a scheduler over it, to which changes are applied.

    cluster: The current cluster, as of its last change.

    Raises KschedctlError if its snapshot cannot be read.
    """

    def __init__(self, start: WorkerStart) -> None:
        request, handle = start.request, AnalysisHandle()
        self.cluster: LoadedCluster = request.over(start.snapshot or request.read(handle), handle)
        if start.snapshot is None:
            request.require_nodes(self.cluster).require_nodes()
        self._cache = Cache(self.cluster.cluster, left_out=start.left_out)
        self._compactions = 0
        self._is_live = not start.request.source.paths

    @property
    def now(self) -> LoadedCluster:
        """The current cluster, from which ages are computed up to this moment if it is a running one."""
        if not self._is_live:
            return self.cluster
        return self.cluster.moved(self.cluster.cluster.at(datetime.now(UTC)))

    def apply(self, changes: FeedChanges) -> None:
        """Apply changes of the running cluster."""
        if not self._cache.apply(changes):
            return
        if self._cache.compactions != self._compactions:
            self._compactions = self._cache.compactions
            self.cluster = self.cluster.over(self._cache.cluster)
        else:
            self.cluster = self.cluster.moved(self._cache.cluster)


class WorkerHandle(AnalysisHandle):
    """The handle of a task: it sends its progress, and is cancelled by a message."""

    def __init__(self, pipe: Connection, number: int) -> None:
        super().__init__()
        self._pipe = pipe
        self._number = number
        self._looked = self._told = monotonic()

    def check(self) -> None:
        now = monotonic()
        if now - self._looked > _STEP:
            self._looked = now
            while self._pipe.poll():
                # While a task runs, the server sends nothing else.
                message: CancelTask = self._pipe.recv()
                if message.number == self._number:
                    self.cancel()
        super().check()

    def track(self, items: Collection[T], task: str) -> Iterator[T]:
        return self.count(items, task, len(items))

    def count(self, items: Iterable[T], noun: str, total: int | None = None) -> Iterator[T]:
        self.check()
        for done, item in enumerate(items, 1):
            yield item
            self._tell(Progress(noun, done, total))
            self.check()

    def busy(self, task: str) -> AbstractContextManager[None]:
        self._tell(Progress(task))
        return nullcontext()

    def _tell(self, progress: Progress) -> None:
        now = monotonic()
        if now - self._told > _STEP:
            self._told = now
            self._pipe.send(progress)


def work(pipe: Connection) -> None:
    """Run the loop of a worker process, until the pipe is closed."""
    # The server ends its workers when it gets these signals.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        start: WorkerStart = pickle.loads(pipe.recv_bytes())
        try:
            followed = FollowedCluster(start)
        except KschedctlError as error:
            pipe.send(Failure(_portable(error)))
            return
        pipe.send(Result(None, start.version))
        del start
        # The collector would look at the whole cluster again and again.
        gc.collect()
        gc.freeze()
        while True:
            message = pipe.recv()
            if isinstance(message, Task):
                if message.changes is not None:
                    followed.apply(message.changes)
                pipe.send(_done(followed.now, message, WorkerHandle(pipe, message.number)))
                if not message.number % _TASKS_BETWEEN_COLLECTIONS:
                    # Cycles are found among the objects of these tasks; a search through all others takes ten times as
                    # long.
                    gc.collect(1 if message.number % _TASKS_BETWEEN_FULL_COLLECTIONS else 2)


def _done(cluster: LoadedCluster, task: Task, handle: WorkerHandle) -> Result | Failure:
    try:
        value: Any = task.function(cluster, *task.arguments, handle)
        return Result(value, task.version, tuple(handle.notices))
    except KschedctlError as error:
        return Failure(_portable(error))
    except RecursionError:
        return Failure(InputError("is nested too deeply", where="the request"))
    except MemoryError:
        return Failure(InputError("not enough memory", where="the request"))
    except Exception:
        traceback.print_exc()
        return Failure(None)


def _portable(error: KschedctlError) -> KschedctlError:
    """Return an error that can be sent: a type whose constructor takes other arguments becomes the base type."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return KschedctlError.like(error)
    return error


#: The module that workers import before anything else.
_PRELOADED: Final = ("kschedctl.web.workers.worker",)


class WorkerDiedError(Exception):
    """The worker process ended before its task did: it was killed, or memory ran out."""


class NotReceivedError(WorkerDiedError):
    """The worker process had ended before it received its task, which another process can run."""


class Worker:
    """A worker process, with a thread that waits for its messages.

    pending: The changes of the cluster that the process has not received yet.
    """

    def __init__(self) -> None:
        context: Any = _context()
        self._pipe, self._theirs = context.Pipe()
        self._process = context.Process(target=work, args=(self._theirs,), daemon=True)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker")
        self.pending = FeedChanges()
        self.tasks = 0
        self._sent = 0
        self._killed = False

    @property
    def is_alive(self) -> bool:
        """True if the process, which runs no task now, can receive one."""
        try:
            # An idle process sends nothing, so that there is only the end of the pipe to read.
            return not self._pipe.poll()
        except OSError:
            return False

    async def start(self, start: Callable[[], bytes]) -> None:
        """Start the process and hand it the cluster.

        Args:
            start: Returns the cluster as a pickled ``WorkerStart``; called in the worker's thread.

        Raises WorkerDiedError if the process ended at once.
        Raises KschedctlError if it reads the snapshot, and cannot.
        """
        await asyncio.get_running_loop().run_in_executor(self._thread, self._start, start)

    def _start(self, start: Callable[[], bytes]) -> None:
        self._process.start()
        self._theirs.close()
        try:
            self._pipe.send_bytes(start())
            reply: Result | Failure = self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerDiedError from None
        if isinstance(reply, Failure) and reply.error is not None:
            raise reply.error

    async def run(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        version: int,
        progressed: Callable[[Progress], None],
    ) -> Result | Failure:
        """Run a task, and wait for its result.

        Args:
            progressed: Receives the progress, in the event loop.

        Raises NotReceivedError if the process had ended before it received the task.
        Raises WorkerDiedError if the process ended before the task did.
        """
        loop = asyncio.get_running_loop()
        changes, self.pending = self.pending, FeedChanges()
        self.tasks += 1
        task = Task(self.tasks, function, arguments, version, changes or None)

        def tell(progress: Progress) -> None:
            # The loop may end before the task does.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(progressed, progress)

        return await loop.run_in_executor(self._thread, self._exchange, task, tell)

    def _exchange(self, task: Task, tell: Callable[[Progress], None]) -> Result | Failure:
        try:
            # Unlike `send`, this leaves no buffer that Python 3.13 complains about if the process has died.
            self._pipe.send_bytes(pickle.dumps(task))
        except OSError:
            raise NotReceivedError from None
        try:
            self._sent = task.number
            while isinstance(message := self._pipe.recv(), Progress):
                tell(message)
        except ConnectionResetError:
            # The system reports a reset, and not an end, if the process left bytes of the task unread.
            raise NotReceivedError from None
        except (EOFError, OSError):
            raise WorkerDiedError from None
        reply: Result | Failure = message
        return reply

    def cancel(self) -> None:
        """Ask the process to end its current task early; it does so at the next step of the analysis."""
        # A task that is still being sent cannot be interrupted by another message.
        if self._sent == self.tasks:
            with suppress(OSError):
                self._pipe.send(CancelTask(self.tasks))

    def kill(self) -> None:
        """End the process at once; a task that waits for it fails."""
        if self._killed:
            return
        self._killed = True
        if self._process.pid is not None:
            self._process.kill()
        self._thread.submit(self._clear)
        self._thread.shutdown(wait=False)

    def _clear(self) -> None:
        # The process may have started only now.
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
        self._pipe.close()


@cache
def _context() -> BaseContext:
    # The server has threads, so that it cannot be forked itself. The fork server has none, and imports once for all.
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context
