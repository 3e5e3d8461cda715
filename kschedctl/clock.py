"""Clocks that are handed in: virtual for simulations, real for what runs in earnest; the code on them is the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from threading import Condition
from typing import Protocol

Callback = Callable[[], None]


@dataclass(order=True, slots=True)
class Timer:
    """Something to come.

    Attributes
    ----------
    at : float
        When, in seconds as its clock tells them.
    order : int
        Of several at one time, the one that was scheduled first comes first.
    callback : callable
        What happens.
    cancelled : bool
        Whether it does not happen any more.
    """

    at: float
    order: int
    callback: Callback = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Let it not happen."""
        self.cancelled = True


class Clock(Protocol):
    """Tells the time, and calls back when some of it has passed."""

    def now(self) -> float:
        """Seconds since an epoch; they never go back."""

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back at a time, or as soon as can be where it has passed."""


class VirtualClock:
    """A clock whose time passes from one event to the next.

    Parameters
    ----------
    start : float
        What it shows first, in seconds.

    Examples
    --------
    >>> clock, seen = VirtualClock(), []
    >>> _ = clock.schedule(2.0, lambda: seen.append(clock.now()))
    >>> clock.advance(5.0)
    >>> seen, clock.now()
    ([2.0], 5.0)
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._order = 0
        self._timers: list[Timer] = []

    def now(self) -> float:
        """The time, in seconds."""
        return self._now

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back at a time; what has passed comes next."""
        self._order += 1
        timer = Timer(max(at, self._now), self._order, callback)
        heappush(self._timers, timer)
        return timer

    def next_at(self) -> float | None:
        """When the next event comes; ``None`` where there is none."""
        while self._timers and self._timers[0].cancelled:
            heappop(self._timers)
        return self._timers[0].at if self._timers else None

    def run_until(self, until: float) -> None:
        """Let time pass up to a moment, and everything happen that comes by then."""
        while (at := self.next_at()) is not None and at <= until:
            self._now = at
            heappop(self._timers).callback()
        self._now = max(self._now, until)

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        self.run_until(self._now + seconds)

    def run(self) -> None:
        """Let everything happen that is to come; the clock then shows when the last of it came."""
        while (at := self.next_at()) is not None:
            self.run_until(at)


class RealClock:
    """The machine's clock: counts from the Unix epoch and goes on while the machine sleeps, but never goes back.

    What is scheduled happens in the thread that is in `run`; everything else may be called from any thread.

    Attributes
    ----------
    id : int
        The machine's clock that it goes by, as ``time.clock_gettime`` takes it.
    """

    def __init__(self) -> None:
        # Where the machine has no such clock, its sleep is not counted.
        self.id: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        self._offset = time.time() - time.clock_gettime(self.id)
        self._order = 0
        self._timers: list[Timer] = []
        self._changed = Condition()
        self._stopped = False

    def now(self) -> float:
        """The time, in seconds since the Unix epoch as of when this clock was made."""
        return time.clock_gettime(self.id) + self._offset

    def of_machine(self, at: float) -> float:
        """A time as the machine's clock tells it."""
        return at - self._offset

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back at a time, or as soon as can be where it has passed."""
        with self._changed:
            self._order += 1
            timer = Timer(at, self._order, callback)
            heappush(self._timers, timer)
            self._changed.notify()
        return timer

    def stop(self) -> None:
        """Let `run` return; what is to come does not happen."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def run(self) -> None:
        """Let things happen at their time until nothing is to come, or until `stop`."""
        while (timer := self._next()) is not None:
            timer.callback()

    def _next(self) -> Timer | None:
        with self._changed:
            while not self._stopped and self._timers:
                if self._timers[0].cancelled:
                    heappop(self._timers)
                    continue
                left = self._timers[0].at - self.now()
                if left <= 0:
                    return heappop(self._timers)
                self._changed.wait(left)
        return None
