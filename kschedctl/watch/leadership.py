"""The leadership among replicas: only the holder of a Lease reports, and stops before another could acquire it."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from threading import Event, Thread
from typing import Protocol

from kschedctl.common.clock import RealClock
from kschedctl.leaderelection.elector import Callbacks, HealthzAdaptor, LeaderElector, Outage
from kschedctl.leaderelection.locks import Lock, same_identity_warning
from kschedctl.leaderelection.runner import held_for
from kschedctl.leaderelection.settings import Actor, ElectionSettings, Steps

#: The seconds after the end of its lease for which a leader that neither renews nor ends counts as healthy, as in
#: kube-scheduler.
_TOLERATED: float = 20.0


class Leadership(Protocol):
    """The right of this replica to report and write."""

    @property
    def left(self) -> float:
        """The time for which no other replica can lead, in seconds; 0 if this replica does not lead."""

    def start(self) -> None:
        """Start to take part in the election."""

    def stop(self) -> None:
        """Stop taking part; call it after everything that requires the lead has ended."""

    def check(self) -> str:
        """Return the problem of the election; empty if there is none."""


class Alone:
    """The leadership of a single replica, which never ends."""

    left = inf

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def check(self) -> str:
        """Return an empty text: there is no problem."""
        return ""


class Elected:
    """A candidate for a Lease, in a thread of its own; after losing the Lease it becomes a candidate again.

    Args:
        lock: Returns the lock of the Lease, on a given clock.
        tell: Receives messages for users.

    Time counts from the moment at which the last renewal began. No other candidate can have seen the renewal before
    this moment, and after seeing it, each waits as long as the Lease says. A request that must not overlap with another
    leader's gets the rest of this time as its limit.
    """

    def __init__(
        self, lock: Callable[[RealClock], Lock], settings: ElectionSettings, tell: Callable[[str], None]
    ) -> None:
        settings.check()
        # ``stop`` releases the Lease after all writing has ended; the candidate cannot know when.
        self._settings = replace(settings, release_on_cancel=False, release_checks_holder=True)
        self._clock = RealClock()
        self._lock = lock(self._clock)
        self._tell = tell
        self._stopped = Event()
        self._actor: Actor | None = None
        self._thread = Thread(target=self._stand, name="election", daemon=True)
        self._health = HealthzAdaptor(_TOLERATED)
        self._outage = Outage(tell)
        #: True once a record with the own identity can be one of this replica, or was reported.
        self._knows_own_record = False
        self._elector = self._candidate()
        self._bug: BaseException | None = None

    @property
    def left(self) -> float:
        """The time for which no other replica can lead, in seconds; 0 if this replica does not lead."""
        if self._bug is not None:
            raise self._bug
        elector = self._elector
        if elector.renewed_at is None or not elector.is_leader:
            return 0.0
        return max(elector.renewed_at + held_for(self._settings) - self._clock.now(), 0.0)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the candidate, and release the Lease if this replica holds it."""
        self._stopped.set()
        self._clock.schedule(self._clock.now(), self._cancel)
        # A hanging request cannot be cancelled; the Lease then expires by itself.
        self._thread.join(self._settings.request_timeout + 1)
        if not self._thread.is_alive() and self._elector.is_leader:
            # The release must not be cancelled.
            self._actor = None
            Actor(self._clock, _ignoring(self._elector.release()))
            releasing = Thread(target=self._clock.run, daemon=True)
            releasing.start()
            releasing.join(2 * self._settings.request_timeout + 1)

    def check(self) -> str:
        """Return the problem of a leader that has neither renewed nor ended; empty if there is none."""
        return self._health.check()

    def _candidate(self) -> LeaderElector:
        callbacks = Callbacks(
            new_leader=self._say_leader,
            failed=self._outage.failed,
            reached=lambda: self._outage.ended(f"{self._lock.describe()} is reachable again"),
            same_identity=self._say_same_identity,
        )
        elector = LeaderElector(self._lock, self._settings, self._clock, callbacks=callbacks)
        self._health.set_leader_election(elector)
        return elector

    def _stand(self) -> None:
        try:
            while not self._stopped.is_set():
                self._actor = Actor(self._clock, self._elector.run())
                self._clock.run()
                if not self._stopped.is_set():
                    self._knows_own_record = True
                    self._tell(
                        f"{self._lock.describe()} is lost: nothing is reported until this replica acquires it again"
                    )
                    self._elector = self._candidate()
        except BaseException as bug:
            self._bug = bug

    def _cancel(self) -> None:
        if self._actor is not None:
            self._actor.cancel()

    def _say_leader(self, leader: str) -> None:
        lease = self._lock.describe()
        if leader == self._lock.identity:
            self._tell(f"{lease} is held by this replica: {leader} leads")
        elif leader:
            self._tell(f"{lease} is held by {leader}: nothing is reported until this replica acquires it")

    def _say_same_identity(self) -> None:
        # After a loss, the Lease can still hold a renewal of this replica itself.
        if not self._knows_own_record:
            self._knows_own_record = True
            self._tell(same_identity_warning(self._lock))


def _ignoring(steps: Steps[bool]) -> Steps[None]:
    yield from steps
