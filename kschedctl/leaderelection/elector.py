"""A candidate: acquires the lease, renews it while leading, and releases it (client-go ``LeaderElector``).

A candidate never compares its clock with the clock of another candidate. A lease has expired when the candidate has not
seen the record change for the lease duration, by the candidate's own clock. Only the rates of the clocks matter,
therefore, and not the times that they show.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor, inf
from random import Random
from threading import Lock as OutageLock
from typing import Final

from kschedctl.common.clock import Clock
from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.leaderelection.locks import LeaderElectionRecord, Lock, LockError, LockNotFoundError, Raw
from kschedctl.leaderelection.settings import JITTER_FACTOR, ElectionSettings, Steps, StoppedError

# Callbacks of a candidate (client-go ``LeaderCallbacks``).


def _nothing() -> None:
    """Ignore an event without data."""


def _say_nothing(_: str) -> None:
    """Ignore a text."""


def _note_nothing(_: float) -> None:
    """Ignore a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """The functions that a candidate calls on events. By default they do nothing."""

    #: Called when the candidate starts to lead.
    started_leading: Callable[[], None] = _nothing
    #: Called when the candidate has ended, even if it never led.
    stopped_leading: Callable[[], None] = _nothing
    #: Called when the candidate has acquired or renewed the lease, with the time when the attempt began, by the
    #: candidate's clock.
    renewed: Callable[[float], None] = _note_nothing
    #: Called when the leader has changed, with the identity of the new leader; empty if nobody leads.
    new_leader: Callable[[str], None] = _say_nothing
    #: Called when an attempt has failed, with the reason.
    failed: Callable[[str], None] = _say_nothing
    #: Called when an attempt had a result: the record was written, or is held by another candidate.
    reached: Callable[[], None] = _nothing
    #: Called when another process appears to hold the lease under the candidate's own identity; both then lead.
    same_identity: Callable[[], None] = _nothing


#: The tolerance for rounding errors, in retry periods.
_ROUNDING: Final = 1e-6


class LeaderElector:
    """A candidate of an election.

    renewed_at: The time when the candidate began the last attempt that acquired or renewed the lease. No other
        candidate can have seen that renewal earlier.

    Args:
        lock: The lock, which stores the record of the election.
        settings: The times and options of the candidate.
        clock: The candidate's own clock.
        random: The source of the jitter between two attempts to acquire the lease.
        callbacks: The functions to call on events.

    Raises InputError if client-go would refuse to start; the message is client-go's.
    """

    def __init__(
        self,
        lock: Lock,
        settings: ElectionSettings,
        clock: Clock,
        *,
        random: Random | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        settings.check()
        if not lock.identity:
            raise InputError("Lock identity is empty")
        self._lock = lock
        self._settings = settings
        self._clock = clock
        self._random = random or Random()
        self._callbacks = callbacks or Callbacks()
        self._observed = LeaderElectionRecord()
        self._observed_raw: Raw = ()
        self._observed_at = float("-inf")
        self._reported = ""
        self.renewed_at: float | None = None
        #: The renew times that were sent since the last success, in whole seconds: the response may have been lost.
        self._sent: set[int] = set()

    @property
    def leader(self) -> str:
        """The identity of the leader in the last record that the candidate saw; empty if there was none."""
        return self._observed.holder_identity

    @property
    def is_leader(self) -> bool:
        """True if the candidate is the leader in the last record that it saw."""
        return self.leader == self._lock.identity

    def check(self, max_tolerable_expired_lease: float) -> str:
        """Return the problem of a leader that has neither renewed nor ended; empty if there is none.

        Args:
            max_tolerable_expired_lease: The tolerated time after the expiry of the lease, in seconds.
        """
        age = self._clock.now() - self._observed_at
        if self.is_leader and age > self._settings.lease_duration + max_tolerable_expired_lease:
            return f"failed election to renew leadership on lease {self._lock.describe()}"
        return ""

    def run(self) -> Steps[None]:
        """Wait for the lease, lead until a renewal fails or the run is cancelled, and end."""
        if (yield from self._acquire()):
            self._callbacks.started_leading()
            try:
                while (yield from self._renewed_in_time()):
                    self._report_transition()
                    yield self._settings.retry_period
            except StoppedError:
                pass
            self._report_transition()
            if self._settings.release_on_cancel:
                yield from self.release()
            self._lock.record_event("stopped leading")
        self._callbacks.stopped_leading()

    def try_acquire_or_renew(self, deadline: float = inf) -> Steps[bool]:
        """Acquire a free lease, or renew a lease that the candidate holds, and report success.

        Args:
            deadline: The time when the attempt is abandoned, by the candidate's clock.
        """
        now = self._clock.now()
        record = self._own_record(now)
        if self.is_leader and self._is_lease_valid(now):
            kept = self._kept(record, self._observed)
            if (yield from self._written(self._lock.update(kept, self._until(deadline)), kept, now)):
                return True
        try:
            old = yield from self._lock.get(self._until(deadline))
        except LockNotFoundError:
            return (yield from self._written(self._lock.create(record, self._until(deadline)), record, now))
        except LockError as error:
            self._callbacks.failed(f"error retrieving resource lock {self._lock.describe()}: {error}")
            return False
        self._observe_read(old)
        valid = old.renew_time + old.lease_duration_seconds > now
        if old.holder_identity == self._lock.identity and valid and int(old.renew_time) not in self._sent:
            self._callbacks.same_identity()
        if old.holder_identity and self._is_lease_valid(now) and not self.is_leader:
            self._callbacks.reached()
            return False
        if self.is_leader:
            record = self._kept(record, old)
        else:
            record = replace(record, leader_transitions=old.leader_transitions + 1)
        return (yield from self._written(self._lock.update(record, self._until(deadline)), record, now))

    def try_coordinated_renew(self, deadline: float = inf) -> Steps[bool]:
        """Renew the lease that the coordinated election controller assigned to the candidate, and report success.

        Args:
            deadline: The time when the attempt is abandoned, by the candidate's clock.
        """
        now = self._clock.now()
        try:
            old = yield from self._lock.get(self._until(deadline))
        except LockError as error:
            self._callbacks.failed(f"error retrieving lease lock {self._lock.describe()}: {error}")
            return False
        self._observe_read(old)
        expired = self._observed_at + old.lease_duration_seconds < now
        # A preferred holder ends the term: the controller assigns a lease that is not renewed to that candidate.
        if expired or not self.is_leader or old.preferred_holder:
            return False
        record = replace(self._kept(self._own_record(now), old), strategy=old.strategy)
        return (yield from self._written(self._lock.update(record, self._until(deadline)), record, now))

    def release(self) -> Steps[bool]:
        """Release the lease, so that no candidate has to wait for its expiry, and report success.

        Returns: True if the candidate has released the lease or does not hold it.
        """
        deadline = self._clock.now() + self._settings.renew_deadline
        try:
            old = yield from self._lock.get(self._until(deadline))
        except LockError as error:
            self._callbacks.failed(f"error retrieving resource lock {self._lock.describe()}: {error}")
            return False
        if not self.is_leader or (self._settings.release_checks_holder and old.holder_identity != self.leader):
            return True
        now = self._clock.now()
        given_up = LeaderElectionRecord(
            lease_duration_seconds=1, acquire_time=now, renew_time=now, leader_transitions=old.leader_transitions
        )
        try:
            yield from self._lock.update(given_up, self._until(deadline))
        except LockError as error:
            self._callbacks.failed(f"failed to release lease {self._lock.describe()}: {error}")
            return False
        self._observe(given_up)
        return True

    def _acquire(self) -> Steps[bool]:
        try:
            while not (yield from self._tried()):
                self._report_transition()
                yield self._settings.retry_period * (1 + self._random.random() * JITTER_FACTOR)
        except StoppedError:
            return False
        self._report_transition()
        self._lock.record_event("became leader")
        return True

    def _renewed_in_time(self) -> Steps[bool]:
        """Try to renew once per retry period, counted from the first attempt, until success or the renew deadline."""
        started, period = self._clock.now(), self._settings.retry_period
        deadline = started + self._settings.renew_deadline
        ticks = 0
        while not (yield from self._tried(deadline)):
            now = self._clock.now()
            # As with a Go ticker, a tick during the attempt is handled at once, and of several ticks only the first.
            wake = max(started + (ticks + 1) * period, now)
            if wake >= deadline:
                yield max(deadline - now, 0.0)
                return False
            yield wake - now
            ticks = floor((self._clock.now() - started) / period + _ROUNDING)
            if self._clock.now() >= deadline:
                return False
        return True

    def _tried(self, deadline: float = inf) -> Steps[bool]:
        if self._settings.coordinated:
            return (yield from self.try_coordinated_renew(deadline))
        return (yield from self.try_acquire_or_renew(deadline))

    def _written(self, request: Steps[None], record: LeaderElectionRecord, began: float) -> Steps[bool]:
        """Send a write request and report success; after a success the record counts as observed."""
        self._sent.add(int(record.renew_time))
        try:
            yield from request
        except LockError as error:
            self._callbacks.failed(f"failed to update lease {self._lock.describe()}: {error}")
            return False
        self._observe(record)
        self._sent = {int(record.renew_time)}
        self.renewed_at = began
        self._callbacks.reached()
        self._callbacks.renewed(began)
        return True

    def _own_record(self, now: float) -> LeaderElectionRecord:
        return LeaderElectionRecord(
            holder_identity=self._lock.identity,
            lease_duration_seconds=self._settings.lease_duration_seconds,
            acquire_time=now,
            renew_time=now,
        )

    @staticmethod
    def _kept(record: LeaderElectionRecord, old: LeaderElectionRecord) -> LeaderElectionRecord:
        return replace(record, acquire_time=old.acquire_time, leader_transitions=old.leader_transitions)

    def _observe_read(self, record: LeaderElectionRecord) -> None:
        if self._observed_raw != record.raw():
            self._observe(record)
            self._observed_raw = record.raw()

    def _observe(self, record: LeaderElectionRecord) -> None:
        self._observed, self._observed_at = record, self._clock.now()

    def _is_lease_valid(self, now: float) -> bool:
        return self._observed_at + self._observed.lease_duration_seconds > now

    def _until(self, deadline: float) -> float:
        return min(deadline, self._clock.now() + self._settings.request_timeout)

    def _report_transition(self) -> None:
        if self.leader != self._reported:
            self._reported = self.leader
            self._callbacks.new_leader(self.leader)


# The health check for a leader that hangs (client-go ``HealthzAdaptor``).


class HealthzAdaptor:
    """A health check that fails while a leader neither renews nor ends (client-go ``HealthzAdaptor``).

    Args:
        timeout: The tolerated time after the expiry of the lease, in seconds; kube-scheduler uses 20.
    """

    name: Final = "leaderElection"

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._elector: LeaderElector | None = None

    def set_leader_election(self, elector: LeaderElector) -> None:
        """Set the candidate to check. Until then the check passes."""
        self._elector = elector

    def check(self) -> str:
        """Return the problem; empty if there is none."""
        return "" if self._elector is None else self._elector.check(self._timeout)


# Reports of an outage: a line per cause, and at its end the number of failed attempts.


class Outage:
    """The failed attempts since the last success, for messages of a process that retries without end.

    Any thread may call the methods.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._causes: set[str] = set()
        self._attempts = 0
        self._lock = OutageLock()

    def failed(self, text: str) -> None:
        """Count a failed attempt, and report its cause unless it was reported since the last success."""
        with self._lock:
            self._attempts += 1
            new = text not in self._causes
            self._causes.add(text)
        if new:
            self._tell(text)

    def ended(self, text: str) -> None:
        """Report a success with the number of attempts that failed before, if there was more than one."""
        with self._lock:
            attempts, self._attempts = self._attempts, 0
            self._causes.clear()
        if attempts > 1:
            self._tell(f"{text} after {counted(attempts, 'failed attempt')}")
