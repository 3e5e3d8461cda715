"""A candidate as a process: it starts, takes part, and ends in one of several ways."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kschedctl.clock import VirtualClock
from kschedctl.leaderelection.callbacks import Callbacks
from kschedctl.leaderelection.elector import LeaderElector
from kschedctl.leaderelection.memory import MemoryApi
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation.network import Link, LocalClock, RemoteLock
from kschedctl.leaderelection.simulation.timeline import Timeline, What
from kschedctl.leaderelection.steps import Actor

LOCK = "kube-system/kube-scheduler"


class Process:
    """A running candidate, from its start to its end; as kube-scheduler does, it ends once it has lost the lease.

    It leads from the call of ``started_leading`` on: until SIGTERM, which ends its work before the lease is released;
    until ``stopped_leading`` is called where it could not renew; or until it crashes.

    Parameters
    ----------
    identity : str
        Who it is; one that is started anew is another one.
    on_lost : callable
        Is called where it ends because it lost the lease.
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
        timeline.note(world.now(), identity, What.STARTED)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._actor.ended

    def crash(self) -> None:
        """End at once."""
        if self.running:
            self._actor.kill()
            self._timeline.note(self._world.now(), self.identity, What.CRASHED)
            self._timeline.end(self._world.now(), self.identity)

    def terminate(self) -> None:
        """End in good order: its work first, then the lease is given up."""
        if self.running and not self._terminating:
            self._terminating = True
            self._failure = ""
            self._timeline.note(self._world.now(), self.identity, What.TERMINATED)
            self._timeline.end(self._world.now(), self.identity)
            self._actor.cancel()

    def _leads(self) -> None:
        self._timeline.begin(self._world.now(), self.identity)

    def _has_failed(self, why: str) -> None:
        self._failure = why

    def _has_stopped(self) -> None:
        now = self._world.now()
        if self._terminating:
            self._timeline.note(now, self.identity, What.ENDED, self._failure)
        else:
            self._timeline.note(now, self.identity, What.LOST)
            self._timeline.end(now, self.identity)
            self._on_lost()
