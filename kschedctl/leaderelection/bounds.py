"""What the times of an election promise: how long nobody leads, and whether two ever can at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import Final

from kschedctl.errors import InputError
from kschedctl.leaderelection.settings import JITTER_FACTOR, ElectionSettings

#: A standby may have read just before the last renewal, waits, reads it, waits for its end, and then reads and writes.
_REQUESTS: Final = 5
#: The retry period as part of the lease duration, and the step in which times are suggested, in seconds.
_RETRY_PART: Final = 2 / 15
_STEP: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What candidates live with.

    Attributes
    ----------
    drift : float
        How much faster or slower a clock may run than it should, as a part of one. What time it shows does not matter.
    request : float
        How long a request to the API server takes at most where it works, in seconds.
    """

    drift: float = 0.0
    request: float = 0.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What some settings promise under some conditions; all times in seconds.

    Attributes
    ----------
    earliest : float
        How long after the last renewal of a leader that has died another may lead at the earliest.
    latest : float
        And at the latest, where one that can reach the API server waits for it.
    released : float
        How long it takes at the latest after a leader has given the lease up. One that is ended while it renews or
        takes the lease may not be able to: its own write changes the record under its hands, and the others wait
        for the end of the lease as after a crash.
    leads_on : float
        How long a leader that cannot renew goes on leading after its last renewal was written.
    holds : float
        How long after that nobody else can lead.
    """

    earliest: float
    latest: float
    released: float
    leads_on: float
    holds: float

    @property
    def exclusive(self) -> bool:
        """Whether two candidates can never lead at once."""
        return self.leads_on < self.holds

    @property
    def overlap(self) -> float:
        """How long two may lead at once; 0 where they never do."""
        return max(self.leads_on - self.holds, 0.0)


def bounds(settings: ElectionSettings, conditions: Conditions) -> Bounds:
    """What settings promise.

    Parameters
    ----------
    settings : ElectionSettings
        Those of all candidates.
    conditions : Conditions
        What they live with.

    Notes
    -----
    A leader knows of a renewal once the answer is there, waits for a retry period, and tries for as long as the
    deadline says. One that then releases the lease leads until that has worked or failed. The others count from when
    they saw the renewal, which is after it was written, with whole seconds of the lease duration; of renewals within
    the same second they see the first.
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


def made_exclusive(settings: ElectionSettings, conditions: Conditions) -> ElectionSettings | None:
    """The settings with the longest deadline with which two never lead at once; ``None`` where there is none.

    Parameters
    ----------
    settings : ElectionSettings
        The others are kept.
    conditions : Conditions
        What candidates live with.
    """
    renew = _stepped(min(settings.renew_deadline, settings.lease_duration_seconds))
    while renew > JITTER_FACTOR * settings.retry_period:
        found = replace(settings, renew_deadline=renew)
        if bounds(found, conditions).exclusive:
            return found
        renew = _stepped(renew - _STEP)
    return None


def settings_for(fail_over: float, conditions: Conditions, template: ElectionSettings) -> ElectionSettings:
    """The settings with the longest times that have another leader in time, and never two.

    Parameters
    ----------
    fail_over : float
        How long after the last renewal another shall lead at the latest, in seconds.
    conditions : Conditions
        What candidates live with.
    template : ElectionSettings
        Everything but the times.

    Raises
    ------
    InputError
        Where no settings do.
    """
    slow = 1 - conditions.drift
    part = 1 + 2 * (1 + JITTER_FACTOR) * _RETRY_PART
    lease = floor((fail_over - _REQUESTS * conditions.request) * slow / part)
    while lease >= 1:
        retry = _stepped(lease * _RETRY_PART)
        times = replace(template, lease_duration=float(lease), renew_deadline=lease - _STEP, retry_period=retry)
        found = made_exclusive(times, conditions) if retry > 0 else None
        if found is not None:
            return found
        lease -= 1
    problem = f"no settings have another leader within {fail_over:g} s and never two at once"
    raise InputError(problem, hint="allow more time, or less drift of clocks and time for requests")


def _stepped(seconds: float) -> float:
    return round(floor(seconds / _STEP + 1e-9) * _STEP, 1)
