"""Code that takes time, written once for every clock: it yields the seconds to wait, and whoever runs it waits."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from kschedctl.clock import Clock, Timer

T = TypeVar("T")
#: Yields the seconds that it waits; `CancelledError` is thrown into it where it shall come to its end.
Steps = Generator[float, None, T]


class CancelledError(Exception):
    """What runs shall come to its end."""


class Actor:
    """Runs steps on a clock.

    Parameters
    ----------
    clock : Clock
        Where its waits pass.
    steps : Steps
        What it does; begins with the clock's next event.
    """

    def __init__(self, clock: Clock, steps: Steps[None]) -> None:
        self._clock = clock
        self._steps: Steps[None] | None = steps
        self._timer: Timer = clock.schedule(clock.now(), self._go_on)

    @property
    def ended(self) -> bool:
        """Whether it has come to its end or was killed."""
        return self._steps is None

    def cancel(self) -> None:
        """Let it come to its end, where it waits now; to be called in the thread that its clock runs in."""
        if self._steps is not None:
            self._timer.cancel()
            self._go_on(CancelledError())

    def wake(self) -> None:
        """End its wait early."""
        if self._steps is not None:
            self._timer.cancel()
            self._go_on()

    def kill(self) -> None:
        """Let it do nothing any more, as a process that is gone."""
        self._timer.cancel()
        self._steps = None

    def _go_on(self, thrown: CancelledError | None = None) -> None:
        steps = self._steps
        if steps is None:
            return
        try:
            seconds = next(steps) if thrown is None else steps.throw(thrown)
        except (StopIteration, CancelledError):
            self._steps = None
            return
        if self._steps is not None:
            self._timer = self._clock.schedule(self._clock.now() + seconds, self._go_on)
