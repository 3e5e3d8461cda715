"""A pool of daemon threads: an abandoned reading ends at once, even if its requests hang."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Final, TypeVar

from kschedctl.sources.live.limits import Deadline

T = TypeVar("T")
#: The time to wait for the threads of a closed pool, in seconds. Threads that still run end with the process.
_JOIN_SECONDS: Final = 0.5
_TICK_SECONDS: Final = 0.1


class Threads:
    """A pool of threads that do not keep the process alive.

    Parameters
    ----------
    n_threads : int
        The number of threads.

    Notes
    -----
    The interpreter waits for the threads of a ``ThreadPoolExecutor`` before it exits, so Ctrl-C would not end a hanging
    request.
    """

    def __init__(self, n_threads: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._ended = Event()
        self._threads = [Thread(target=self._run, daemon=True) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Queue a function for the next free thread."""
        future: Future[T] = Future()
        self._tasks.put((future, task))
        return future

    def close(self) -> None:
        """Stop the threads: queued functions are not started, running ones get 0.5 s to finish."""
        self._ended.set()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join(_JOIN_SECONDS / len(self._threads))

    def _run(self) -> None:
        while (given := self._tasks.get()) is not None and not self._ended.is_set():
            future, task = given
            try:
                future.set_result(task())
            except BaseException as error:
                future.set_exception(error)


def result(future: Future[T], meanwhile: Callable[[], None], tick: float) -> T:
    """Wait for a future and return its result or raise its exception.

    Parameters
    ----------
    future : Future
        The future.
    meanwhile : callable
        Called repeatedly during the wait; raises an exception to give up.
    tick : float
        The interval between two calls of ``meanwhile``, in seconds.
    """
    while not wait((future,), tick).done:
        meanwhile()
    return future.result()


def within(seconds: float | None, task: Callable[[], T], what: str) -> T:
    """Run a function that may hang, with a timeout.

    Parameters
    ----------
    seconds : float or None
        The timeout, in seconds; ``None`` for no timeout.
    task : callable
        The function.
    what : str
        The beginning of the error message, to which ``within N s`` is appended.

    Raises
    ------
    ClusterError
        If the function exceeds the timeout.
    """
    deadline = Deadline.after(seconds)

    def meanwhile() -> None:
        if deadline.passed:
            raise deadline.too_late(what)

    threads = Threads(1)
    try:
        return result(threads.submit(task), meanwhile, _TICK_SECONDS)
    finally:
        threads.close()
