"""A simulated candidate process, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kschedctl.common.clock import VirtualClock
from kschedctl.leaderelection.callbacks import Callbacks
from kschedctl.leaderelection.elector import LeaderElector
from kschedctl.leaderelection.memory import MemoryApi
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation.network import Link, LocalClock, RemoteLock
from kschedctl.leaderelection.simulation.timeline import ElectionEvent, Timeline
from kschedctl.leaderelection.steps import Actor

LOCK = "kube-system/kube-scheduler"


class Process:
    """A candidate process, which ends once it has lost the lease, as kube-scheduler does.

    The process leads from the call of ``started_leading``. It stops leading at SIGTERM, which ends its work before the
    lease is released; at the call of ``stopped_leading``, if it could not renew; or when it crashes.

    Parameters
    ----------
    identity : str
        The identity of the candidate. A restarted candidate gets a new identity.
    on_lost : callable
        Called when the process ends because it lost the lease.
    """

    def __init__(
        self,
        identity: str,
        *,
        api: MemoryApi,
        link: Link,
        clock: LocalClock,
        world: VirtualClock,
        settings: ElectionSettings,
        timeline: Timeline,
        random: Random,
        on_lost: Callable[[], None],
    ) -> None:
        self.identity = identity
        self._world = world
        self._timeline = timeline
        self._on_lost = on_lost
        self._terminating = False
        self._failure = ""
        lock = RemoteLock(api, LOCK, identity, link=link, clock=clock, world=world, random=random)
        callbacks = Callbacks(started_leading=self._leads, stopped_leading=self._has_stopped, failed=self._has_failed)
        lock.writes = timeline.writes
        elector = LeaderElector(lock, settings, clock, random=random, callbacks=callbacks)
        self._actor = lock.actor = Actor(clock, elector.run())
        timeline.note(world.now(), identity, ElectionEvent.STARTED)

    @property
    def running(self) -> bool:
        """True if the process has not ended."""
        return not self._actor.ended

    def crash(self) -> None:
        """End the process at once, without a release of the lease."""
        if self.running:
            self._actor.kill()
            self._timeline.note(self._world.now(), self.identity, ElectionEvent.CRASHED)
            self._timeline.end(self._world.now(), self.identity)

    def terminate(self) -> None:
        """End the process gracefully: first its work, then the lease is released."""
        if self.running and not self._terminating:
            self._terminating = True
            self._failure = ""
            self._timeline.note(self._world.now(), self.identity, ElectionEvent.TERMINATED)
            self._timeline.end(self._world.now(), self.identity)
            self._actor.cancel()

    def _leads(self) -> None:
        self._timeline.begin(self._world.now(), self.identity)

    def _has_failed(self, why: str) -> None:
        self._failure = why

    def _has_stopped(self) -> None:
        now = self._world.now()
        if self._terminating:
            self._timeline.note(now, self.identity, ElectionEvent.ENDED, self._failure)
        else:
            self._timeline.note(now, self.identity, ElectionEvent.LOST)
            self._timeline.end(now, self.identity)
            self._on_lost()
