"""Guarantees of election settings: bounds for the time without a leader, and for the time with two leaders."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import floor
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.leaderelection.settings import JITTER_FACTOR, ElectionSettings

#: The number of requests in the slowest takeover: a standby reads just before the last renewal, waits, reads the
#: renewal, waits until the lease expires, and then reads and writes.
_REQUESTS: Final = 5
#: The suggested retry period as a fraction of the lease duration, and the step of suggested times, in seconds.
_RETRY_PART: Final = 2 / 15
_STEP: Final = 0.1
#: The longest time until another candidate leads for which settings are searched, in seconds.
_LONGEST_FAIL_OVER: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The quality of the candidates' clocks and requests."""

    #: The maximum error of a clock's rate, as a fraction: 0.01 is 1 % too fast or too slow. The offset of a clock
    #: has no effect on an election.
    drift: float = 0.0
    #: The maximum duration of a successful request to the API server, in seconds.
    request: float = 0.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The guarantees of settings under given conditions. All times are in seconds."""

    #: The shortest time from the last renewal of a dead leader until another candidate can lead.
    earliest: float
    #: The longest time from the last renewal of a dead leader until another candidate leads, provided that one can
    #: reach the API server.
    latest: float
    #: The longest time from the release of the lease until another candidate leads. A leader that is terminated
    #: while it renews or acquires the lease may fail to release it, because its own write changes the record in
    #: between. The others then wait until the lease expires, as after a crash.
    released: float
    #: The longest time that a leader which cannot renew goes on leading after its last renewal was written.
    leads_on: float
    #: The time after the last renewal was written in which no other candidate can lead.
    holds: float

    @property
    def exclusive(self) -> bool:
        """True if two candidates can never lead at the same time."""
        return self.leads_on < self.holds

    @property
    def overlap(self) -> float:
        """The longest time that two candidates can lead at the same time, in seconds; 0 if they never can."""
        return max(self.leads_on - self.holds, 0.0)


def bounds(settings: ElectionSettings, conditions: Conditions) -> Bounds:
    """Compute the guarantees of settings.

    Args:
        conditions: The quality of the candidates' clocks and requests.

    A leader learns of a renewal when the response arrives, waits for the retry period, and retries until the renew
    deadline. A leader that then releases the lease leads until the release has succeeded or failed. The other
    candidates count from the moment when they saw the renewal, which is after it was written, and with the lease
    duration in whole seconds. Of several renewals within one second they see only the first.
    """
    slow, fast = 1 - conditions.drift, 1 + conditions.drift
    request = min(conditions.request, settings.request_timeout / slow)
    lease, pause = settings.lease_duration_seconds, settings.longest_pause
    releasing = min(settings.renew_deadline, 2 * settings.request_timeout) if settings.release_on_cancel else 0.0
    unseen = 0.0 if settings.retry_period >= 1 else 1 / slow + request
    holds = max(lease / fast - unseen, 0.0)
    return Bounds(
        earliest=holds,
        latest=(lease + 2 * pause) / slow + _REQUESTS * conditions.request,
        released=pause / slow + 2 * conditions.request,
        leads_on=request + (settings.retry_period + settings.renew_deadline + releasing) / slow,
        holds=holds,
    )


def with_exclusive_deadline(settings: ElectionSettings, conditions: Conditions) -> ElectionSettings | None:
    """Return the settings with the longest renew deadline that excludes two leaders, or ``None`` if there is none.

    Args:
        settings: The settings. The renew deadline is shortened in steps of 0.1 s; the other settings are kept.
        conditions: The quality of the candidates' clocks and requests.
    """

    def with_deadline(steps: int) -> ElectionSettings:
        return replace(settings, renew_deadline=round(steps * _STEP, 1))

    # A shorter deadline excludes two leaders wherever a longer one does, so that the longest is found by bisection.
    longest = floor(min(settings.renew_deadline, settings.lease_duration_seconds) / _STEP + 1e-9)
    n_exclusive = bisect_left(
        range(1, longest + 1), True, key=lambda steps: not bounds(with_deadline(steps), conditions).exclusive
    )
    found = with_deadline(n_exclusive)
    return found if found.renew_deadline > JITTER_FACTOR * settings.retry_period else None


def settings_for(fail_over: float, conditions: Conditions, template: ElectionSettings) -> ElectionSettings:
    """Return the settings with the longest times that guarantee a timely takeover and exclude two leaders.

    Args:
        fail_over: The longest allowed time from the last renewal until another candidate leads, in seconds.
        conditions: The quality of the candidates' clocks and requests.
        template: The settings other than lease duration, renew deadline and retry period.

    Raises InputError if no settings fulfil both, or ``fail_over`` is more than an hour.
    """
    if fail_over > _LONGEST_FAIL_OVER:
        raise InputError(f"{fail_over:g} s until another leads is too long", hint="at most 1 hour is supported")
    slow = 1 - conditions.drift
    part = 1 + 2 * (1 + JITTER_FACTOR) * _RETRY_PART
    lease = floor((fail_over - _REQUESTS * conditions.request) * slow / part)
    while lease >= 1:
        retry = _stepped(lease * _RETRY_PART)
        times = replace(template, lease_duration=float(lease), renew_deadline=lease - _STEP, retry_period=retry)
        found = with_exclusive_deadline(times, conditions) if retry > 0 else None
        if found is not None:
            return found
        lease -= 1
    problem = f"no settings guarantee another leader within {fail_over:g} s and never two leaders at once"
    raise InputError(problem, hint="allow more time, or assume less clock drift and faster requests")


def _stepped(seconds: float) -> float:
    return round(floor(seconds / _STEP + 1e-9) * _STEP, 1)
