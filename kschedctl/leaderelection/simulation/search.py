"""Search for an election with two leaders at once, among many simulations with different faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import Final

from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation.faults import LEADER, Crash, Fault, Partition, Scenario, SlowApi
from kschedctl.leaderelection.simulation.timeline import LeaderTerm, Timeline
from kschedctl.leaderelection.simulation.world import simulate

#: The maximum duration of a random fault, in lease durations; and the maximum number of random faults.
_LEASES: Final = 3.0
_MOST_FAULTS: Final = 3
#: The time after which somebody leads, and a small delay after an event; both in seconds.
_SETTLED: Final = 10.0
_JUST: Final = 2e-3


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An election in which two candidates led at the same time.

    Attributes
    ----------
    scenario : Scenario
        The scenario with its faults and seed: another simulation of it gives the same result.
    timeline : Timeline
        The events of the election.
    first, second : LeaderTerm
        The overlapping terms, in the order of their beginnings.
    """

    scenario: Scenario
    timeline: Timeline
    first: LeaderTerm
    second: LeaderTerm

    @property
    def seconds(self) -> float:
        """The duration of the overlap, in seconds."""
        return min(self.first.end, self.second.end) - self.second.start


def find_counterexample(settings: ElectionSettings, scenario: Scenario, runs: Iterable[int]) -> Counterexample | None:
    """Search for an election in which two candidates lead at the same time.

    Parameters
    ----------
    settings : ElectionSettings
        The settings of all candidates.
    scenario : Scenario
        The base scenario, which determines the clock errors and the slowest requests. If it has faults, the first
        simulation and every fourth one after that use these faults.
    runs : iterable of int
        The numbers of the simulations, from 0; each is consumed when its simulation begins.

    Returns
    -------
    Counterexample or None
        The first counterexample found.
    """
    for tried in _scenarios(settings, scenario, runs):
        timeline = simulate(settings, tried)
        for first, second in timeline.overlaps():
            return Counterexample(tried, timeline, first, second)
    return None


def random_faults(random: Random, scenario: Scenario, settings: ElectionSettings) -> tuple[Fault, ...]:
    """Return 1 to 3 random faults that last up to 3 lease durations, with requests no slower than the scenario's."""
    return tuple(_random_fault(random, scenario, settings) for _ in range(random.randint(1, _MOST_FAULTS)))


def _random_fault(random: Random, scenario: Scenario, settings: ElectionSettings) -> Fault:
    at = _told(random.uniform(0, scenario.duration * 0.7))
    until = _told(at + random.uniform(0, _LEASES * settings.lease_duration))
    who = random.choice(["leader", "leader", *(str(number) for number in range(1, scenario.candidates + 1))])
    slowest = scenario.longest_request
    match random.randrange(4):
        case 0:
            return Crash(at, random.choice((until, inf)), who)
        case 1 | 2 if slowest > scenario.request:
            return SlowApi(slowest, random.choice((0.0, at)), until, random.choice((who, "leader", "all")))
    return Partition(at, until, who)


def _scenarios(settings: ElectionSettings, scenario: Scenario, runs: Iterable[int]) -> Iterator[Scenario]:
    for number in runs:
        seed = scenario.seed + number
        if number % 4 == 0 and scenario.faults:
            yield replace(scenario, seed=seed)
        elif number % 4 == 1:
            yield _worst(settings, replace(scenario, seed=seed))
        else:
            yield replace(scenario, seed=seed, faults=random_faults(Random(seed), scenario, settings))


def _worst(settings: ElectionSettings, scenario: Scenario) -> Scenario:
    """Return the worst scenario: a partition of the leader just after the renewal with the slowest response.

    Requests of the other candidates are not slow.
    """
    is_slow = scenario.longest_request > scenario.request
    slow = (SlowApi(scenario.longest_request, _SETTLED, who=LEADER),) if is_slow else ()
    alone = replace(scenario, faults=slow)
    writes = [write for write in simulate(settings, alone).writes if _SETTLED < write.at < scenario.duration / 2]
    if not writes:
        return alone
    latest = max(writes, key=lambda write: write.known_at - write.at)
    at = _told(latest.known_at + _JUST)
    return replace(alone, faults=(*alone.faults, Partition(at, _told(at + _LEASES * settings.lease_duration))))


def _told(seconds: float) -> float:
    """Round a time to milliseconds, so that the printed option reproduces the fault exactly."""
    return round(seconds, 3)
