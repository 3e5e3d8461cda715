"""The simulated network between candidates and the API server: requests are delayed, blocked or arrive too late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kschedctl.common.clock import Callback, Clock, Timer, VirtualClock
from kschedctl.leaderelection.lock import LockError
from kschedctl.leaderelection.memory import MemoryApi, MemoryLock, Versioned
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.simulation.faults import SlowApi
from kschedctl.leaderelection.simulation.timeline import Write
from kschedctl.leaderelection.steps import Actor, Steps, T

#: The maximum delay of blocked data after a partition has healed, in seconds.
_RESENT: Final = 0.2
#: The tolerance for floating-point errors in the conversion between clocks, in seconds.
_ROUNDING: Final = 1e-9


@dataclass(slots=True)
class Link:
    """The network connection between one candidate and the API server.

    Attributes
    ----------
    seconds : float
        The maximum duration of a request without faults, in seconds.
    partitions : int
        The number of active partitions.
    slowness : list of SlowApi
        The active faults that slow requests down.
    """

    seconds: float
    partitions: int = 0
    slowness: list[SlowApi] = field(default_factory=list)
    _waiting: list[Callback] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """The current maximum duration of a request, in seconds."""
        return max([self.seconds, *(slow.seconds for slow in self.slowness)])

    def cut(self) -> None:
        """Add a partition."""
        self.partitions += 1

    def heal(self) -> None:
        """Remove a partition; after the last one, run the waiting callbacks."""
        self.partitions -= 1
        if not self.partitions:
            waiting, self._waiting = self._waiting, []
            for go_on in waiting:
                go_on()

    def wait(self, go_on: Callback) -> None:
        """Register a callback for the moment when no partition is left."""
        self._waiting.append(go_on)


@dataclass(slots=True)
class _Answer:
    """The response to a request, or a placeholder for it until ``there`` is true."""

    there: bool = False
    error: LockError | None = None
    value: object = None


class RemoteLock(MemoryLock):
    """The lock of a candidate that reaches the API server over a link.

    Parameters
    ----------
    api : MemoryApi
        The API server.
    name, identity : str
        As for `MemoryLock`.
    link : Link
        The network connection.
    clock : Clock
        The candidate's clock.
    world : VirtualClock
        The clock of the true time.
    random : Random
        The source of the requests' durations.

    Attributes
    ----------
    actor : Actor or None
        The actor to wake when a response arrives.
    writes : list of Write
        The writes for which the candidate received a success response.
    """

    def __init__(
        self, api: MemoryApi, name: str, identity: str, *, link: Link, clock: Clock, world: VirtualClock, random: Random
    ) -> None:
        super().__init__(api, name, identity)
        self._link = link
        self._clock = clock
        self._world = world
        self._random = random
        self._pending: _Answer | None = None
        self.actor: Actor | None = None
        self.writes: list[Write] = []

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        """Read the record."""
        found = yield from self._ask(lambda: self._api.get(self._name), until)
        self._seen = found.resource_version
        return found.record

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Create the record."""
        yield from self._write(lambda: self._api.create(self._name, record), until)

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Update the record at the resource version that was last read or written."""
        version = self._seen
        if version is None:
            raise LockError("lease not initialized, call get or create first")
        yield from self._write(lambda: self._api.update(self._name, record, version), until)

    def _write(self, serve: Callable[[], Versioned], until: float) -> Steps[None]:
        written_at = 0.0

        def serve_and_note() -> Versioned:
            nonlocal written_at
            written_at = self._world.now()
            return serve()

        written = yield from self._ask(serve_and_note, until)
        self._seen = written.resource_version
        self.writes.append(Write(self._identity, written_at, self._world.now()))

    def _ask(self, serve: Callable[[], T], until: float) -> Steps[T]:
        """Send a request and wait for the response. The server may still execute a request that was abandoned."""
        answer = self._pending = _Answer()
        there, back = self._durations()

        def arrive() -> None:
            try:
                answer.value = serve()
            except LockError as error:
                answer.error = error
            self._after(back, come_back)

        def come_back() -> None:
            answer.there = True
            if self._pending is answer and self.actor is not None:
                self.actor.wake()

        self._after(there, arrive)
        while not answer.there and until - self._clock.now() > _ROUNDING:
            yield until - self._clock.now()
        self._pending = None
        if not answer.there:
            raise LockError("context deadline exceeded")
        if answer.error is not None:
            raise answer.error
        return answer.value  # type: ignore[return-value]

    def _durations(self) -> tuple[float, float]:
        whole = self._link.longest * self._random.choice((1.0, self._random.uniform(0.2, 1)))
        # Uneven splits matter most: the record changes long before the candidate knows, or long after it asked.
        there = whole * self._random.choice((0.02, 0.98, self._random.random()))
        return there, whole - there

    def _after(self, seconds: float, happen: Callable[[], None]) -> None:
        """Run a callback at the other end of the link; a partition delays it until up to 0.2 s after it has healed."""
        late = self._random.uniform(0, _RESENT)

        def arrive() -> None:
            if self._link.partitions:
                self._link.wait(lambda: self._in(late, arrive))
            else:
                happen()

        self._in(seconds, arrive)

    def _in(self, seconds: float, happen: Callback) -> None:
        self._world.schedule(self._world.now() + seconds, happen)


class LocalClock:
    """A candidate's clock, with an offset from the true time and a rate of its own.

    Parameters
    ----------
    world : VirtualClock
        The clock of the true time.
    skew : float
        The offset from the true time at the beginning, in seconds.
    rate : float
        The number of this clock's seconds per true second.
    """

    def __init__(self, world: VirtualClock, skew: float = 0.0, rate: float = 1.0) -> None:
        self._world = world
        self._skew = skew
        self._rate = rate

    def now(self) -> float:
        """Return the time that the clock shows, in seconds."""
        return self._world.now() * self._rate + self._skew

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Schedule a callback for the moment when the clock shows a time."""
        return self._world.schedule((at - self._skew) / self._rate, callback)
