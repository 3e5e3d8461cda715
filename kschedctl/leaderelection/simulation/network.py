"""Between candidates and the API server: requests that take their time, are held up, or come too late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kschedctl.clock import Callback, Clock, Timer, VirtualClock
from kschedctl.leaderelection.lock import LockError
from kschedctl.leaderelection.memory import MemoryApi, MemoryLock, Versioned
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.simulation.faults import SlowApi
from kschedctl.leaderelection.simulation.timeline import Write
from kschedctl.leaderelection.steps import Actor, Steps, T

#: What had to wait for a network to heal comes a little later, in seconds.
_RESENT: Final = 0.2
#: A time that is left only because clocks of different rates are computed in floating point, in seconds.
_ROUNDING: Final = 1e-9


@dataclass(slots=True)
class Link:
    """The way from one candidate to the API server and back.

    Attributes
    ----------
    seconds : float
        How long a request takes at most.
    partitions : int
        How many faults cut it off now.
    slowness : list of SlowApi
        What slows it down now.
    """

    seconds: float
    partitions: int = 0
    slowness: list[SlowApi] = field(default_factory=list)
    _waiting: list[Callback] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """How long a request takes now at most, in seconds."""
        return max([self.seconds, *(slow.seconds for slow in self.slowness)])

    def cut(self) -> None:
        """Cut it off."""
        self.partitions += 1

    def heal(self) -> None:
        """Take one cut away; with the last of them what waited goes on."""
        self.partitions -= 1
        if not self.partitions:
            waiting, self._waiting = self._waiting, []
            for go_on in waiting:
                go_on()

    def wait(self, go_on: Callback) -> None:
        """Go on once it is not cut off any more."""
        self._waiting.append(go_on)


@dataclass(slots=True)
class _Answer:
    """What came back, once it has."""

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
        The way there.
    clock : Clock
        The candidate's clock.
    world : VirtualClock
        The true time.
    random : Random
        How long each request takes.

    Attributes
    ----------
    actor : Actor or None
        Who is woken when an answer is there.
    writes : list of Write
        The changes of the record that it was answered.
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
        """Make the record."""
        yield from self._write(lambda: self._api.create(self._name, record), until)

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Change the record as of the version that was last seen."""
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
        """Send a request, and wait for its answer; one that is given up may be served all the same."""
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
        # Most of it on one way is what matters: the record changes long before or after somebody knows.
        there = whole * self._random.choice((0.02, 0.98, self._random.random()))
        return there, whole - there

    def _after(self, seconds: float, happen: Callable[[], None]) -> None:
        """Have something happen at the other end; what is held up on the way comes a little after it may pass."""
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
    """A candidate's clock, which shows another time than the true one and runs at another rate.

    Parameters
    ----------
    world : VirtualClock
        The true time.
    skew : float
        What it showed too much at the beginning, in seconds.
    rate : float
        How many of its seconds pass in a true one.
    """

    def __init__(self, world: VirtualClock, skew: float = 0.0, rate: float = 1.0) -> None:
        self._world = world
        self._skew = skew
        self._rate = rate

    def now(self) -> float:
        """The time that it shows, in seconds."""
        return self._world.now() * self._rate + self._skew

    def schedule(self, at: float, callback: Callback) -> Timer:
        """Call back when it shows a time."""
        return self._world.schedule((at - self._skew) / self._rate, callback)
