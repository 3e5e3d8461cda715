"""The simulated network, processes and faults of an election, and its timeline."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from random import Random
from typing import Final

from kschedctl.common.clock import Callback, Clock, Timer, VirtualClock
from kschedctl.leaderelection.elector import Callbacks, LeaderElector
from kschedctl.leaderelection.locks import LeaderElectionRecord, LockError, MemoryApi, MemoryLock, Versioned
from kschedctl.leaderelection.settings import Actor, ElectionSettings, Steps, T

# Faults of a simulated election, and the scenario that contains them.

#: The targets of a fault besides the number of a candidate, which counts from 1.
LEADER: Final = "leader"
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash: a candidate ends at once, as with SIGKILL, and loses its state."""

    #: The times of the crash and of the restart, in seconds; an infinite ``until`` means no restart.
    at: float
    #: The times of the crash and of the restart, in seconds; an infinite ``until`` means no restart.
    until: float = inf
    #: The candidate: its number, ``leader`` or ``all``.
    who: str = LEADER


@dataclass(frozen=True, slots=True)
class Partition:
    """A network partition between a candidate and the API server; data in transit is delivered later, as by TCP."""

    #: The beginning and the end, in seconds.
    at: float
    #: The beginning and the end, in seconds.
    until: float = inf
    #: The candidate: its number, ``leader`` or ``all``.
    who: str = LEADER


@dataclass(frozen=True, slots=True)
class SlowApi:
    """A period of slow requests."""

    #: The maximum duration of a request, in seconds, divided between request and response in any proportion.
    seconds: float
    #: The beginning and the end, in seconds.
    at: float = 0.0
    #: The beginning and the end, in seconds.
    until: float = inf
    #: The candidate with slow requests: its number, ``leader`` or ``all``.
    who: str = ALL


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A rolling update of a Deployment: a new pod starts, then an old pod gets SIGTERM, one pod at a time."""

    #: The beginning, in seconds.
    at: float
    #: The time from the start of a new pod until it contends for the lease, in seconds.
    start_up: float = 5.0


Fault = Crash | Partition | SlowApi | Upgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The parameters of a simulation besides the candidates' settings."""

    candidates: int = 3
    #: The simulated time, in seconds.
    duration: float = 120.0
    faults: tuple[Fault, ...] = field(default=())
    #: The maximum offset of a candidate's clock, in seconds, in either direction.
    clock_skew: float = 0.0
    #: The maximum error of a clock's rate, as a fraction, in either direction.
    clock_drift: float = 0.0
    #: The maximum duration of a request without a ``SlowApi`` fault, in seconds.
    request: float = 0.02
    #: The time until a candidate that ended because it lost the lease is restarted, in seconds.
    restart_after: float = 5.0
    #: The seed of the random numbers. The same seed produces the same simulation.
    seed: int = 0

    @property
    def longest_request(self) -> float:
        """The maximum duration of a successful request, including slow ones, in seconds."""
        return max([self.request, *(fault.seconds for fault in self.faults if isinstance(fault, SlowApi))])


# The timeline of a simulated election: events, and the terms of the leaders.


class ElectionEvent(StrEnum):
    """The type of an event."""

    STARTED = "started"
    LEADS = "leads"
    STOPPED = "stopped leading"
    LOST = "lost the lease"
    ENDED = "ended"
    CRASHED = "crashed"
    TERMINATED = "got SIGTERM"
    PARTITIONED = "cut off"
    HEALED = "reachable again"
    SLOWED = "requests are slow"
    QUICKENED = "requests are quick again"
    UPGRADED = "upgrade begins"


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the simulation."""

    #: The true time since the beginning, in seconds.
    at: float
    #: The identity of the candidate; empty for all candidates.
    who: str
    #: The type of the event.
    what: ElectionEvent
    #: Details of the event, in words.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LeaderTerm:
    """A period in which a candidate led."""

    #: The identity of the candidate.
    who: str
    #: The true times since the beginning of the simulation, in seconds.
    start: float
    #: The true times since the beginning of the simulation, in seconds.
    end: float


@dataclass(frozen=True, slots=True)
class Write:
    """A successful write of the record."""

    #: The identity of the candidate.
    who: str
    #: The true time when the record changed, in seconds.
    at: float
    #: The true time when the candidate received the response, in seconds.
    known_at: float


@dataclass
class Timeline:
    """The events of a simulation in chronological order, and the terms of the leaders."""

    #: The simulated time, in seconds.
    duration: float = 0.0
    events: list[Event] = field(default_factory=list)
    #: The successful writes of the record.
    writes: list[Write] = field(default_factory=list)
    _open: dict[str, float] = field(default_factory=dict)
    _closed: list[LeaderTerm] = field(default_factory=list)

    def note(self, at: float, who: str, what: ElectionEvent, detail: str = "") -> None:
        """Add an event."""
        self.events.append(Event(at, who, what, detail))

    def begin(self, at: float, who: str) -> None:
        """Record that a candidate begins to lead."""
        self._open[who] = at
        self.note(at, who, ElectionEvent.LEADS)

    def end(self, at: float, who: str) -> None:
        """Record that a candidate stops leading, if it leads."""
        start = self._open.pop(who, None)
        if start is not None:
            self._closed.append(LeaderTerm(who, start, at))
            self.note(at, who, ElectionEvent.STOPPED)

    def leading(self) -> list[str]:
        """Return the identities of the current leaders."""
        return list(self._open)

    def terms(self) -> list[LeaderTerm]:
        """Return all terms, sorted by their beginning; current terms end with the simulation."""
        running = [LeaderTerm(who, start, self.duration) for who, start in self._open.items()]
        return sorted([*self._closed, *running], key=lambda term: (term.start, term.who))

    def overlaps(self) -> Iterator[tuple[LeaderTerm, LeaderTerm]]:
        """Yield the pairs of overlapping terms, each in the order of their beginnings."""
        terms = self.terms()
        for i, first in enumerate(terms):
            for second in terms[i + 1 :]:
                # A term that ends exactly when another begins does not overlap with it; later terms begin later.
                if second.start >= first.end:
                    break
                yield first, second

    def gaps(self) -> Iterator[tuple[float, float]]:
        """Yield the beginning and end of each period without a leader."""
        led_until = 0.0
        for term in self.terms():
            if term.start > led_until:
                yield led_until, term.start
            led_until = max(led_until, term.end)
        if led_until < self.duration:
            yield led_until, self.duration


#: The maximum delay of blocked data after a partition has healed, in seconds.
_RESENT: Final = 0.2
#: The tolerance for floating-point errors in the conversion between clocks, in seconds.
_ROUNDING: Final = 1e-9


@dataclass(slots=True)
class Link:
    """The network connection between one candidate and the API server."""

    #: The maximum duration of a request without faults, in seconds.
    seconds: float
    #: The number of active partitions.
    partitions: int = 0
    #: The active faults that slow requests down.
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

    actor: The actor to wake when a response arrives.
    writes: The writes for which the candidate received a success response.

    Args:
        world: The clock of the true time.
        random: The source of the requests' durations.
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
        found = yield from self._ask(lambda: self._api.get(self._name), until)
        self._seen = found.resource_version
        return found.record

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        yield from self._write(lambda: self._api.create(self._name, record), until)

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
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

    Args:
        world: The clock of the true time.
        skew: The offset from the true time at the beginning, in seconds.
        rate: The number of this clock's seconds per true second.
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


# A simulated candidate process, from its start to its end.

LOCK = "kube-system/kube-scheduler"


class Process:
    """A candidate process, which ends once it has lost the lease, as kube-scheduler does.

    The process leads from the call of ``started_leading``. It stops leading at SIGTERM, which ends its work before the
    lease is released; at the call of ``stopped_leading``, if it could not renew; or when it crashes.

    Args:
        identity: The identity of the candidate. A restarted candidate gets a new identity.
        on_lost: Called when the process ends because it lost the lease.
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
