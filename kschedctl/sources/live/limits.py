"""Limits of time and size for reading a cluster, and a pool of daemon threads that can be abandoned."""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Final, TypeVar

from kschedctl.common.errors import ClusterError
from kschedctl.sources.snapshot.archives import size_text

#: The default timeout of a request, in seconds.
REQUEST_SECONDS: Final = 60.0
#: The time limit of the whole reading, as a multiple of the timeout of a request.
READING_FACTOR: Final = 10
#: The maximum size of a response, in bytes (1 GiB). By default 500 pods are requested at a time; a list of all 150,000
#: pods of a large cluster is smaller than this limit.
MAX_ANSWER: Final = 1024**3
#: The maximum size of all responses of a reading together, in bytes (16 GiB).
MAX_READING: Final = 16 * 1024**3
_MORE_TIME: Final = "allow more time with --request-timeout, or make a snapshot with kubectl"


@dataclass(frozen=True, slots=True)
class Deadline:
    """A deadline."""

    #: The time limit, in seconds; ``None`` for no limit.
    seconds: float | None
    #: The time of the deadline, by ``time.monotonic``.
    until: float = float("inf")

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """Return the deadline ``seconds`` from the current time; ``None`` for no limit."""
        return cls(seconds) if seconds is None else cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float | None:
        """The seconds left, at least 0; ``None`` for no limit."""
        return None if self.seconds is None else max(self.until - time.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        """True if the deadline has passed."""
        return time.monotonic() >= self.until

    def too_late(self, what: str) -> ClusterError:
        """Return the error for something that was not finished by the deadline.

        Args:
            what: The beginning of the message, to which ``within N s`` is appended.
        """
        return ClusterError(f"{what} within {self.seconds or 0:g} s", hint=_MORE_TIME)


class Limits:
    """The limits of a reading; its threads share them.

    Args:
        request_seconds: The timeout of a request with its retries, in seconds; 0 for no timeout of requests and of
            the reading.
        max_answer, max_reading: The maximum size of one response and of all responses together, in bytes.
    """

    def __init__(self, request_seconds: float, max_answer: int = MAX_ANSWER, max_reading: int = MAX_READING) -> None:
        self._request_seconds = request_seconds or None
        self.reading = Deadline.after(request_seconds * READING_FACTOR if request_seconds else None)
        self.ended = Event()
        self.max_answer = max_answer
        self._max_reading = max_reading
        self._n_bytes = 0
        self._lock = Lock()

    def begin(self) -> None:
        """Begin a reading: reset its deadline, the count of bytes and ``ended``."""
        self.reading = Deadline.after(self.reading.seconds)
        self._n_bytes = 0
        self.ended.clear()

    def request(self) -> Deadline:
        """Return the deadline of a request that begins at the moment of the call."""
        return min(Deadline.after(self._request_seconds), self.reading, key=lambda each: each.until)

    def add(self, n_bytes: int, host: str) -> None:
        """Count bytes of a response.

        Raises ClusterError if all responses together are larger than ``max_reading``.
        """
        with self._lock:
            self._n_bytes += n_bytes
            if self._n_bytes > self._max_reading:
                raise ClusterError(f"{host} sends more than {size_text(self._max_reading)}, the limit for one reading")


# A pool of daemon threads: an abandoned reading ends at once, even if its requests hang.

T = TypeVar("T")
#: The time to wait for the threads of a closed pool, in seconds. Threads that still run end with the process.
_JOIN_SECONDS: Final = 0.5
_TICK_SECONDS: Final = 0.1


class Threads:
    """A pool of threads that do not keep the process alive.

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

    Args:
        meanwhile: Called repeatedly during the wait; raises an exception to give up.
        tick: The interval between two calls of ``meanwhile``, in seconds.
    """
    while not wait((future,), tick).done:
        meanwhile()
    return future.result()


def within(seconds: float | None, task: Callable[[], T], what: str) -> T:
    """Run a function that may hang, with a timeout.

    Args:
        seconds: The timeout, in seconds; ``None`` for no timeout.
        what: The beginning of the error message, to which ``within N s`` is appended.

    Raises ClusterError if the function exceeds the timeout.
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
