"""Who of several copies may say something: the one that holds a Lease, for as long as nobody else can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from threading import Event, Thread
from typing import Protocol

from kschedctl.clock import RealClock
from kschedctl.leaderelection.callbacks import Callbacks
from kschedctl.leaderelection.elector import LeaderElector
from kschedctl.leaderelection.health import HealthzAdaptor
from kschedctl.leaderelection.lock import Lock
from kschedctl.leaderelection.running.runner import held_for
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.steps import Actor, Steps

#: As long as kube-scheduler bears it that a leader neither renews nor ends.
_TOLERATED: float = 20.0


class Leadership(Protocol):
    """Whether we lead."""

    @property
    def left(self) -> float:
        """For how many seconds nobody else can lead; 0 where we do not."""

    def start(self) -> None:
        """Take part."""

    def stop(self) -> None:
        """Take part no more; what must be done while leading has been done."""

    def check(self) -> str:
        """What is wrong; empty where nothing is."""


class Alone:
    """There is no other copy."""

    left = inf

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def check(self) -> str:
        """Nothing is wrong."""
        return ""


class Elected:
    """A candidate for a Lease, in a thread of its own; one that has lost it stands again.

    Parameters
    ----------
    lock : callable
        Makes the lock of the Lease, on a clock.
    settings : ElectionSettings
        The times.
    tell : callable
        Is given what people may want to know.

    Notes
    -----
    What counts is the moment at which the last renewal began, which nobody can have seen before: from then on others
    wait as long as the Lease says. A request that must not overlap with another leader's is given what is left of that.
    """

    def __init__(
        self, lock: Callable[[RealClock], Lock], settings: ElectionSettings, tell: Callable[[str], None]
    ) -> None:
        settings.check()
        # The Lease is given up once nothing is written any more, which the candidate knows nothing of.
        self._settings = replace(settings, release_on_cancel=False, release_checks_holder=True)
        self._clock = RealClock()
        self._lock = lock(self._clock)
        self._tell = tell
        self._stopped = Event()
        self._actor: Actor | None = None
        self._thread = Thread(target=self._stand, name="election", daemon=True)
        self._health = HealthzAdaptor(_TOLERATED)
        self._elector = self._candidate()
        self._failed = ""
        self._bug: BaseException | None = None

    @property
    def left(self) -> float:
        """For how many seconds nobody else can lead; 0 where we do not."""
        if self._bug is not None:
            raise self._bug
        elector = self._elector
        if elector.renewed_at is None or not elector.is_leader:
            return 0.0
        return max(elector.renewed_at + held_for(self._settings) - self._clock.now(), 0.0)

    def start(self) -> None:
        """Take part."""
        self._thread.start()

    def stop(self) -> None:
        """Give the Lease up, where it is ours."""
        self._stopped.set()
        self._clock.schedule(self._clock.now(), self._cancel)
        # A request may hang that cannot be given up; the Lease then ends by itself.
        self._thread.join(self._settings.request_timeout + 1)
        if not self._thread.is_alive() and self._elector.is_leader:
            # Nothing is left that could cancel it.
            self._actor = None
            Actor(self._clock, _ignoring(self._elector.release()))
            releasing = Thread(target=self._clock.run, daemon=True)
            releasing.start()
            releasing.join(2 * self._settings.request_timeout + 1)

    def check(self) -> str:
        """What is wrong with a leader that has neither renewed nor ended; empty where nothing is."""
        return self._health.check()

    def _candidate(self) -> LeaderElector:
        callbacks = Callbacks(new_leader=self._say_leader, failed=self._say_failed)
        elector = LeaderElector(self._lock, self._settings, self._clock, callbacks=callbacks)
        self._health.set_leader_election(elector)
        return elector

    def _stand(self) -> None:
        try:
            while not self._stopped.is_set():
                self._play(self._elector.run())
                if not self._stopped.is_set():
                    self._tell(f"{self._lock.describe()} is lost: nothing is said until it is ours again")
                    self._elector = self._candidate()
        except BaseException as bug:
            self._bug = bug

    def _play(self, steps: Steps[None]) -> None:
        self._actor = Actor(self._clock, steps)
        self._clock.run()

    def _cancel(self) -> None:
        if self._actor is not None:
            self._actor.cancel()

    def _say_leader(self, leader: str) -> None:
        lease = self._lock.describe()
        if leader == self._lock.identity:
            self._tell(f"{lease} is ours: {leader} leads")
        elif leader:
            self._tell(f"{lease} is held by {leader}: nothing is said until it is ours")

    def _say_failed(self, text: str) -> None:
        # The same again and again helps nobody.
        if text != self._failed:
            self._failed = text
            self._tell(text)


def _ignoring(steps: Steps[bool]) -> Steps[None]:
    yield from steps
