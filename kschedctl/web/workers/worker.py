"""A worker process as the server sees it."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.context import BaseContext
from typing import Any, Final

from kschedctl.watch.feed import FeedChanges
from kschedctl.web.workers.messages import CancelTask, Failure, Progress, Result, Task
from kschedctl.web.workers.process import work

#: The module that workers import before anything else.
_PRELOADED: Final = ("kschedctl.web.workers.process",)


class WorkerDiedError(Exception):
    """The worker process ended before its task did: it was killed, or memory ran out."""


class NotReceivedError(WorkerDiedError):
    """The worker process had ended before it received its task, which another process can run."""


class Worker:
    """A worker process, with a thread that waits for its messages.

    Attributes
    ----------
    pending : FeedChanges
        The changes of the cluster that the process has not received yet.
    tasks : int
        The number of tasks so far.
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

        Parameters
        ----------
        start : callable
            Returns the cluster as a pickled ``WorkerStart``; called in the worker's thread.

        Raises
        ------
        WorkerDiedError
            If the process ended at once.
        """
        await asyncio.get_running_loop().run_in_executor(self._thread, self._start, start)

    def _start(self, start: Callable[[], bytes]) -> None:
        self._process.start()
        self._theirs.close()
        try:
            self._pipe.send_bytes(start())
            self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerDiedError from None

    async def run(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        version: int,
        progressed: Callable[[Progress], None],
    ) -> Result | Failure:
        """Run a task, and wait for its result.

        Parameters
        ----------
        progressed : callable
            Receives the progress, in the event loop.

        Raises
        ------
        NotReceivedError
            If the process had ended before it received the task.
        WorkerDiedError
            If the process ended before the task did.
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
