"""How long a reading may take and how much it may bring: nothing that a server does makes it go on for ever."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Event, Lock
from typing import Final

from kschedctl.errors import ClusterError
from kschedctl.snapshot.unpacking import size_text

#: How long one request may take.
REQUEST_SECONDS: Final = 60.0
#: How much longer than one request the whole reading may take.
READING_FACTOR: Final = 10
#: Bytes of one answer. Pods are asked for 500 at a time; all 150,000 of a large cluster at once are less than this.
MAX_ANSWER: Final = 1024**3
#: Bytes of all answers.
MAX_READING: Final = 16 * 1024**3
_MORE_TIME: Final = "allow more time with --request-timeout, or make a snapshot with kubectl"


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment until which something must be done.

    Attributes
    ----------
    seconds : float or None
        How long it may take in all; ``None`` for as long as it likes.
    until : float
        The moment, as ``time.monotonic`` tells it.
    """

    seconds: float | None
    until: float = float("inf")

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now."""
        return cls(seconds) if seconds is None else cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float | None:
        """The seconds that are left, not below zero; ``None`` for any number."""
        return None if self.seconds is None else max(self.until - time.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return time.monotonic() >= self.until

    def sooner(self, other: Deadline) -> Deadline:
        """The one that comes first."""
        return self if self.until <= other.until else other

    def too_late(self, what: str) -> ClusterError:
        """The error of what is not done by then.

        Parameters
        ----------
        what : str
            The beginning of a sentence that names how long it took.
        """
        return ClusterError(f"{what} within {self.seconds or 0:g} s", hint=_MORE_TIME)


class Limits:
    """The limits of one reading; many threads share them.

    Parameters
    ----------
    request_seconds : float
        How long a request may take, with its repetitions; 0 for as long as it likes, which goes for the reading too.
    max_answer, max_reading : int
        How many bytes one answer, and all of them, may have.

    Attributes
    ----------
    reading : Deadline
        That of the whole reading.
    ended : Event
        Is set once nothing more is wanted.
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
        """Begin a reading: its time counts from now on."""
        self.reading = Deadline.after(self.reading.seconds)
        self._n_bytes = 0
        self.ended.clear()

    def request(self) -> Deadline:
        """The deadline of a request that begins now."""
        return Deadline.after(self._request_seconds).sooner(self.reading)

    def add(self, n_bytes: int, host: str) -> None:
        """Count bytes of an answer.

        Raises
        ------
        ClusterError
            Where they are too many.
        """
        with self._lock:
            self._n_bytes += n_bytes
            if self._n_bytes > self._max_reading:
                raise ClusterError(
                    f"{host} sends more than {size_text(self._max_reading)}, and nothing says when it ends"
                )
