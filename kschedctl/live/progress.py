"""How far the reading of a cluster is, as one line."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Final

#: After so many seconds without an answer the line says that it is waited for one.
_QUIET_SECONDS: Final = 2.0


class Progress:
    """Shows a line about a reading; threads tell it what they have.

    Parameters
    ----------
    name : str
        What the cluster is called.
    show : callable
        Is given a line to show instead of the last one.
    """

    def __init__(self, name: str, show: Callable[[str], None]) -> None:
        self._name = name
        self._show = show
        self._lock = Lock()
        self._counts: dict[str, tuple[int, int]] = {}
        self._n_kinds = 0
        self._heard = time.monotonic()

    def begin(self, n_kinds: int = 0) -> None:
        """Say that the cluster is asked, and for how many kinds as soon as that is known."""
        with self._lock:
            self._n_kinds = n_kinds
            self._heard = time.monotonic()
            if not n_kinds:
                self._show(self._line())

    def listed(self, plural: str, so_far: int, to_come: int) -> None:
        """Say how many objects of a kind there are so far, and how many are to come."""
        with self._lock:
            self._counts[plural] = (so_far, to_come)
            self._heard = time.monotonic()
            self._show(self._line())

    def waiting(self) -> None:
        """Say that nothing was heard for a while, if that is so."""
        with self._lock:
            seconds = time.monotonic() - self._heard
            if seconds >= _QUIET_SECONDS:
                self._show(f"{self._line()}, no answer for {seconds:.0f} s")

    def end(self) -> None:
        """Take the line away."""
        with self._lock:
            self._show("")

    def _line(self) -> str:
        if not self._n_kinds:
            return f"asking {self._name}"
        done = sum(not to_come for _, to_come in self._counts.values())
        parts = [f"asking {self._name}: {done} of {self._n_kinds} kinds"]
        parts += [f"{n} of {n + to_come} {name}" for name, (n, to_come) in self._counts.items() if to_come]
        return ", ".join(parts)
