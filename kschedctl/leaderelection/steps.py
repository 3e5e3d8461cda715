"""Steps: generators that yield the seconds to wait, so that the same code runs on a real or a virtual clock."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from kschedctl.common.clock import Clock, Timer

T = TypeVar("T")
#: A generator that yields the seconds to wait. To cancel it, `StoppedError` is thrown into it.
Steps = Generator[float, None, T]


class StoppedError(Exception):
    """The request to running steps to finish."""


class Actor:
    """A runner of steps on a clock.

    Parameters
    ----------
    clock : Clock
        The clock that schedules the waits.
    steps : Steps
        The steps to run. They begin with the clock's next event.
    """

    def __init__(self, clock: Clock, steps: Steps[None]) -> None:
        self._clock = clock
        self._steps: Steps[None] | None = steps
        self._timer: Timer = clock.schedule(clock.now(), self._go_on)

    @property
    def ended(self) -> bool:
        """True if the steps have finished or were killed."""
        return self._steps is None

    def cancel(self) -> None:
        """Throw `StoppedError` into the steps. Call this in the thread that runs the clock."""
        if self._steps is not None:
            self._timer.cancel()
            self._go_on(StoppedError())

    def wake(self) -> None:
        """End the current wait early."""
        if self._steps is not None:
            self._timer.cancel()
            self._go_on()

    def kill(self) -> None:
        """Stop the steps without any cleanup, as the death of a process does."""
        self._timer.cancel()
        self._steps = None

    def _go_on(self, thrown: StoppedError | None = None) -> None:
        steps = self._steps
        if steps is None:
            return
        try:
            seconds = next(steps) if thrown is None else steps.throw(thrown)
        except (StopIteration, StoppedError):
            self._steps = None
            return
        if self._steps is not None:
            self._timer = self._clock.schedule(self._clock.now() + seconds, self._go_on)
