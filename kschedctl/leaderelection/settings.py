"""The times of an election, and what candidates refuse to start with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kschedctl.errors import InputError
from kschedctl.findings.finding import Finding

#: client-go's ``JitterFactor``: a candidate waits up to so many retry periods more than one.
JITTER_FACTOR: Final = 1.2
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    """How a candidate takes part.

    Attributes
    ----------
    lease_duration : float
        How long others wait since they last saw a renewal, in seconds. The record holds the whole seconds of it.
    renew_deadline : float
        How long a leader goes on trying to renew, in seconds.
    retry_period : float
        The pause between two tries, in seconds.
    release_on_cancel : bool
        Whether a leader that ends gives the lease up, so that nobody has to wait; kube-scheduler does.
    coordinated : bool
        Whether a controller of the API server says who leads.
    release_checks_holder : bool
        Whether a leader that ends looks first whether the lease is still its own. client-go does not.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    release_on_cancel: bool = True
    coordinated: bool = False
    release_checks_holder: bool = False

    @property
    def lease_duration_seconds(self) -> int:
        """What the record says."""
        return int(self.lease_duration)

    @property
    def request_timeout(self) -> float:
        """How long a request to the lock may take, in seconds (``resourcelock.NewFromKubeconfig``)."""
        return max(self.renew_deadline / 2, 1.0)

    @property
    def longest_pause(self) -> float:
        """The longest pause between two tries of a candidate that does not lead, in seconds."""
        return self.retry_period * (1 + JITTER_FACTOR)

    def problems(self) -> Iterator[Finding]:
        """Why a candidate would not start, in client-go's words; it tells the first one alone."""
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
        """Refuse what no candidate starts with.

        Raises
        ------
        InputError
            With the first problem.
        """
        first = next(self.problems(), None)
        if first is not None:
            raise InputError.together([first])
