"""The settings of a candidate, and client-go's validation of them."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from kschedctl.common.clock import Clock, Timer
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding

#: client-go's ``JitterFactor``: a candidate that does not lead waits 1 to 2.2 retry periods between two attempts.
JITTER_FACTOR: Final = 1.2
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    """The settings of a candidate; the defaults are kube-scheduler's."""

    #: The time that other candidates wait after they last saw a renewal, in seconds. The record contains its whole
    #: seconds.
    lease_duration: float = 15.0
    #: The time for which a leader retries a renewal, in seconds.
    renew_deadline: float = 10.0
    #: The pause between two attempts, in seconds.
    retry_period: float = 2.0
    #: True if a leader releases the lease when it ends, so that no other candidate has to wait; kube-scheduler
    #: does.
    release_on_cancel: bool = True
    #: True if a controller of the API server assigns the lease (coordinated leader election).
    coordinated: bool = False
    #: True if a leader that ends first checks that it still holds the lease. client-go does not.
    release_checks_holder: bool = False

    @property
    def lease_duration_seconds(self) -> int:
        """The lease duration in the record, in whole seconds (rounded down)."""
        return int(self.lease_duration)

    @property
    def request_timeout(self) -> float:
        """The timeout of a request to the lock, in seconds (``resourcelock.NewFromKubeconfig``).

        The timeout is half the renew deadline, at least 1 s.
        """
        return max(self.renew_deadline / 2, 1.0)

    @property
    def longest_pause(self) -> float:
        """The longest pause between two attempts of a candidate that does not lead, in seconds."""
        return self.retry_period * (1 + JITTER_FACTOR)

    def problems(self) -> Iterator[Finding]:
        """Yield the reasons why a candidate would not start, in client-go's words; client-go reports only the first."""
        lease, renew, retry = (
            round(seconds * _NANOSECONDS) for seconds in (self.lease_duration, self.renew_deadline, self.retry_period)
        )
        if lease <= renew:
            yield Finding("leaseDuration must be greater than renewDeadline")
        if renew <= int(JITTER_FACTOR * retry):
            yield Finding("renewDeadline must be greater than retryPeriod*JitterFactor")
        if lease < 1:
            yield Finding("leaseDuration must be greater than zero")
        if renew < 1:
            yield Finding("renewDeadline must be greater than zero")
        if retry < 1:
            yield Finding("retryPeriod must be greater than zero")

    def check(self) -> None:
        """Check that a candidate would start with the settings.

        Raises InputError if there is a problem; the message is the first one.
        """
        first = next(self.problems(), None)
        if first is not None:
            raise InputError.together([first])


# Steps: generators that yield the seconds to wait, so that the same code runs on a real or a virtual clock.

T = TypeVar("T")
#: A generator that yields the seconds to wait. To cancel it, `StoppedError` is thrown into it.
Steps = Generator[float, None, T]


class StoppedError(Exception):
    """The request to running steps to finish."""


class Actor:
    """A runner of steps on a clock.

    Args:
        steps: The steps to run. They begin with the clock's next event.
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
