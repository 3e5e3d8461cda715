"""Threads that nobody has to wait for: a reading that is given up ends at once, whatever its requests wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Final, TypeVar

from kschedctl.live.limits import Deadline

T = TypeVar("T")
#: How long is waited for threads that were told to end; what still waits then dies with the process.
_JOIN_SECONDS: Final = 0.5
_TICK_SECONDS: Final = 0.1


class Threads:
    """Runs functions in a few threads that do not keep the process alive.

    Parameters
    ----------
    n_threads : int
        How many run at a time.

    Notes
    -----
    The interpreter waits for the threads of ``ThreadPoolExecutor`` before it ends, so that Ctrl-C would not end a
    request that hangs.
    """

    def __init__(self, n_threads: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._ended = Event()
        self._threads = [Thread(target=self._run, daemon=True) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Let a thread run a function as soon as one is free."""
        future: Future[T] = Future()
        self._tasks.put((future, task))
        return future

    def close(self) -> None:
        """Begin nothing more."""
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
    """What a function returned, or the error that it raised.

    Parameters
    ----------
    future : Future
        The function's.
    meanwhile : callable
        Is called while it is waited for, and may raise to give up.
    tick : float
        How often, in seconds.
    """
    while not wait((future,), tick).done:
        meanwhile()
    return future.result()


def within(seconds: float | None, task: Callable[[], T], what: str) -> T:
    """Run a function that may hang.

    Parameters
    ----------
    seconds : float or None
        How long it may take; ``None`` for as long as it likes.
    task : callable
        The function.
    what : str
        The beginning of a sentence, for the error.

    Raises
    ------
    ClusterError
        Where it takes longer.
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
