"""The loop of a worker process: it receives tasks and sends their results until the server closes the pipe."""

from __future__ import annotations

import gc
import pickle
import signal
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any, Final, TypeVar

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.watch.cache import Cache
from kschedctl.watch.feed import FeedChanges
from kschedctl.web.workers.messages import CancelTask, Failure, Progress, Result, Task, WorkerStart

T = TypeVar("T")
#: The time between two messages about progress, and between two looks for a message to cancel, in seconds.
_STEP: Final = 0.1


class FollowedCluster:
    """A cluster with a scheduler over it, to which changes are applied.

    Parameters
    ----------
    start : WorkerStart
        The cluster as it was when the worker started.

    Attributes
    ----------
    cluster : SchedulingCluster
        The current cluster, as of its last change.
    """

    def __init__(self, start: WorkerStart) -> None:
        self.cluster: SchedulingCluster = start.request.over(start.snapshot, AnalysisHandle())
        self._cache = Cache(self.cluster.cluster, left_out=start.left_out)
        self._compactions = 0
        self._is_live = not start.request.source.paths

    @property
    def now(self) -> SchedulingCluster:
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
    """The handle of a task: it sends its progress, and is cancelled by a message.

    Parameters
    ----------
    pipe : Connection
        The connection to the server.
    number : int
        The number of the task.
    """

    def __init__(self, pipe: Connection, number: int) -> None:
        super().__init__()
        self._pipe = pipe
        self._number = number
        self._looked = self._told = monotonic()

    def check(self) -> None:
        """Raise `CancelledError` if the task was cancelled."""
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
        """Yield the items one by one, and send the number that is done."""
        return self.count(items, task, len(items))

    def count(self, items: Iterable[T], noun: str, total: int | None = None) -> Iterator[T]:
        """Yield the items one by one as they come, and send their number."""
        self.check()
        for done, item in enumerate(items, 1):
            yield item
            self._tell(Progress(noun, done, total))
            self.check()

    def busy(self, task: str) -> AbstractContextManager[None]:
        """Send the name of work of unknown length."""
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
        followed = FollowedCluster(start)
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


def _done(cluster: SchedulingCluster, task: Task, handle: WorkerHandle) -> Result | Failure:
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
