"""Clocks that are passed in: a virtual one for simulations, the real one for running processes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from threading import Condition
from typing import Protocol

Callback = Callable[[], None]


@dataclass(order=True, slots=True)
class Timer:
    """A scheduled callback."""

    #: The time of the callback, in seconds of its clock.
    at: float
    #: The number of the timer: of several timers for one time, the one scheduled first runs first.
    order: int
    #: The function to call.
    callback: Callback = field(compare=False)
    #: True if the callback is not to be called.
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Cancel the callback."""
        self.cancelled = True


class Clock(Protocol):
    """A clock that returns the time and calls back at a given time."""

    def now(self) -> float:
        """Return the time in seconds since an epoch; it never goes back."""

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back at a time, or as soon as possible if the time has passed."""


class VirtualClock:
    """A virtual clock, whose time jumps from one event to the next.

    Args:
        start: The initial time, in seconds.

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
        """Return the time, in seconds."""
        return self._now

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back at a time; if the time has passed, call back next."""
        self._order += 1
        timer = Timer(max(at, self._now), self._order, callback)
        heappush(self._timers, timer)
        return timer

    def next_at(self) -> float | None:
        """Return the time of the next event, or ``None`` if there is none."""
        while self._timers and self._timers[0].cancelled:
            heappop(self._timers)
        return self._timers[0].at if self._timers else None

    def run_until(self, until: float) -> None:
        """Advance to a time, and run all callbacks up to it."""
        while (at := self.next_at()) is not None and at <= until:
            self._now = at
            heappop(self._timers).callback()
        self._now = max(self._now, until)

    def advance(self, seconds: float) -> None:
        """Advance by some seconds, and run the callbacks on the way."""
        self.run_until(self._now + seconds)

    def run(self) -> None:
        """Run all callbacks; the clock then shows the time of the last one."""
        while (at := self.next_at()) is not None:
            self.run_until(at)


class RealClock:
    """The machine's clock: it counts from the Unix epoch, continues while the machine sleeps, and never goes back.

    Callbacks run in the thread that calls `run`; all other methods may be called from any thread.

    id: The machine's clock to read, as a clock id of ``time.clock_gettime``.
    """

    def __init__(self) -> None:
        # Without CLOCK_BOOTTIME, time during which the machine sleeps is not counted.
        self.id: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        self._offset = time.time() - time.clock_gettime(self.id)
        self._order = 0
        self._timers: list[Timer] = []
        self._changed = Condition()
        self._stopped = False

    def now(self) -> float:
        """Return the time, in seconds since the Unix epoch as known when this clock was created."""
        return time.clock_gettime(self.id) + self._offset

    def of_machine(self, at: float) -> float:
        """Convert a time to that of the machine's clock."""
        return at - self._offset

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back at a time, or as soon as possible if the time has passed."""
        with self._changed:
            self._order += 1
            timer = Timer(at, self._order, callback)
            heappush(self._timers, timer)
            self._changed.notify()
        return timer

    def stop(self) -> None:
        """Make `run` return, without running the remaining callbacks."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def run(self) -> None:
        """Run callbacks at their times until none is left, or until `stop`."""
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
