"""The progress of reading a cluster, as one line."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Final

#: The time without a response after which the line reports the wait, in seconds.
_QUIET_SECONDS: Final = 2.0


class Progress:
    """A progress line of a reading, which several threads can update.

    Parameters
    ----------
    name : str
        The name of the cluster.
    show : callable
        Called with a line that replaces the previous one.
    """

    def __init__(self, name: str, show: Callable[[str], None]) -> None:
        self._name = name
        self._show = show
        self._lock = Lock()
        self._counts: dict[str, tuple[int, int]] = {}
        self._n_kinds = 0
        self._heard = time.monotonic()

    def begin(self, n_kinds: int = 0) -> None:
        """Begin the progress line; call this again with the number of kinds once that is known."""
        with self._lock:
            self._n_kinds = n_kinds
            self._heard = time.monotonic()
            if not n_kinds:
                self._show(self._line())

    def listed(self, plural: str, so_far: int, to_come: int) -> None:
        """Show the numbers of read and remaining objects of a kind."""
        with self._lock:
            self._counts[plural] = (so_far, to_come)
            self._heard = time.monotonic()
            self._show(self._line())

    def waiting(self) -> None:
        """Show the time since the last response, if it is at least 2 s."""
        with self._lock:
            seconds = time.monotonic() - self._heard
            if seconds >= _QUIET_SECONDS:
                self._show(f"{self._line()}, no response for {seconds:.0f} s")

    def end(self) -> None:
        """Clear the line."""
        with self._lock:
            self._show("")

    def _line(self) -> str:
        if not self._n_kinds:
            return f"reading {self._name}"
        done = sum(not to_come for _, to_come in self._counts.values())
        parts = [f"reading {self._name}: {done} of {self._n_kinds} kinds"]
        parts += [f"{n} of {n + to_come} {name}" for name, (n, to_come) in self._counts.items() if to_come]
        return ", ".join(parts)
