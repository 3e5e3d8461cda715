"""The simulation of an election: candidates, an API server, the true time, and faults."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from random import Random
from typing import Final

from kschedctl.common.clock import VirtualClock
from kschedctl.leaderelection.locks import MemoryApi
from kschedctl.leaderelection.network import (
    ALL,
    LEADER,
    Crash,
    ElectionEvent,
    Fault,
    Link,
    LocalClock,
    Partition,
    Process,
    Scenario,
    SlowApi,
    Timeline,
    Upgrade,
)
from kschedctl.leaderelection.settings import ElectionSettings

#: Candidates are started within this time, in seconds.
_START: Final = 2.0
#: The time that candidates' clocks show at the beginning, apart from their skew.
_EPOCH: Final = 1_000_000.0


def simulate(settings: ElectionSettings, scenario: Scenario) -> Timeline:
    """Simulate an election.

    Args:
        scenario: The number of candidates, the faults and the other parameters.

    Returns: The events; the same arguments give the same events.
    """
    return _World(settings, scenario).run()


@dataclass
class _Seat:
    """The slot of a candidate, in which processes run one after another."""

    #: The number of the candidate, from 1.
    number: int
    #: The connection to the API server.
    link: Link
    #: The candidate's clock.
    clock: LocalClock
    #: The current or last process.
    process: Process | None = None
    #: The number of processes started so far.
    n_started: int = 0
    #: The number of active faults that prevent a start.
    held_down: int = 0


class _World:
    def __init__(self, settings: ElectionSettings, scenario: Scenario) -> None:
        settings.check()
        self._settings = settings
        self._scenario = scenario
        self._random = Random(scenario.seed)
        self._clock = VirtualClock()
        self._timeline = Timeline(scenario.duration)
        self._api = MemoryApi()
        self._seats = [self._seat(number) for number in range(1, scenario.candidates + 1)]

    def run(self) -> Timeline:
        for seat in self._seats:
            self._at(self._random.uniform(0, _START), partial(self._start, seat))
        for fault in self._scenario.faults:
            self._at(fault.at, partial(self._begin, fault))
        self._clock.run_until(self._scenario.duration)
        return self._timeline

    def _seat(self, number: int) -> _Seat:
        skew, drift = self._scenario.clock_skew, self._scenario.clock_drift
        clock = LocalClock(
            self._clock,
            _EPOCH + self._random.uniform(-skew, skew),
            # The ends of the range matter most, so they are chosen often.
            1 + self._random.choice((-drift, 0.0, drift, self._random.uniform(-drift, drift))),
        )
        return _Seat(number, Link(self._scenario.request), clock)

    def _at(self, at: float, happen: Callable[[], None]) -> None:
        self._clock.schedule(at, happen)

    def _after(self, seconds: float, happen: Callable[[], None]) -> None:
        self._at(self._clock.now() + seconds, happen)

    def _note(self, seat: _Seat | None, what: ElectionEvent, detail: str = "") -> None:
        self._timeline.note(
            self._clock.now(),
            "" if seat is None else seat.process.identity if seat.process is not None else f"scheduler-{seat.number}",
            what,
            detail,
        )

    def _start(self, seat: _Seat) -> None:
        if seat.held_down or (seat.process is not None and seat.process.running):
            return
        seat.n_started += 1
        suffix = f"-{seat.n_started}" if seat.n_started > 1 else ""
        seat.process = Process(
            f"scheduler-{seat.number}{suffix}",
            api=self._api,
            link=seat.link,
            clock=seat.clock,
            world=self._clock,
            settings=self._settings,
            timeline=self._timeline,
            random=Random(self._random.getrandbits(64)),
            on_lost=lambda: self._after(self._scenario.restart_after, partial(self._start, seat)),
        )

    def _meant(self, who: str) -> list[_Seat]:
        """Return the candidates that a fault affects; without a leader, ``leader`` is the first running candidate."""
        if who == ALL:
            return list(self._seats)
        if who != LEADER:
            return [seat for seat in self._seats if str(seat.number) == who]
        leading = self._timeline.leading()
        running = [seat for seat in self._seats if seat.process is not None and seat.process.running]
        led = [seat for seat in running if seat.process is not None and seat.process.identity in leading]
        return (led or running)[:1]

    def _begin(self, fault: Fault) -> None:
        match fault:
            case Crash():
                for seat in self._meant(fault.who):
                    self._crash(seat, fault)
            case Partition():
                for seat in self._meant(fault.who):
                    seat.link.cut()
                    self._note(seat, ElectionEvent.PARTITIONED)
                    self._end(fault.until, partial(self._heal, seat))
            case SlowApi():
                seats = self._meant(fault.who)
                for seat in seats:
                    seat.link.slowness.append(fault)
                whose = seats[0] if len(seats) == 1 else None
                self._note(whose, ElectionEvent.SLOWED, f"up to {fault.seconds:g} s")
                self._end(fault.until, partial(self._quicken, seats, fault))
            case Upgrade():
                self._note(None, ElectionEvent.UPGRADED)
                self._upgrade(list(self._seats), fault)

    def _end(self, at: float, happen: Callable[[], None]) -> None:
        if isfinite(at):
            self._at(at, happen)

    def _crash(self, seat: _Seat, fault: Crash) -> None:
        if seat.process is not None:
            seat.process.crash()
        seat.held_down += 1

        def come_back() -> None:
            seat.held_down -= 1
            self._start(seat)

        self._end(fault.until, come_back)

    def _heal(self, seat: _Seat) -> None:
        seat.link.heal()
        self._note(seat, ElectionEvent.HEALED)

    def _quicken(self, seats: list[_Seat], fault: SlowApi) -> None:
        for seat in seats:
            seat.link.slowness.remove(fault)
        self._note(seats[0] if len(seats) == 1 else None, ElectionEvent.QUICKENED)

    def _upgrade(self, seats: list[_Seat], fault: Upgrade) -> None:
        """Replace the process of each seat in turn; the old process goes on outside its seat until it has ended."""
        if not seats:
            return
        seat, *others = seats

        def swap() -> None:
            old, seat.process = seat.process, None
            # The new pod may run on another node: partitions of the old pod do not affect it.
            seat.link = Link(self._scenario.request, slowness=list(seat.link.slowness))
            self._start(seat)
            if old is not None:
                old.terminate()
            self._upgrade(others, fault)

        self._after(fault.start_up, swap)
