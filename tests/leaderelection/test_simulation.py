"""Random faults on the virtual clock: two leaders only outside the bounds, and a new leader in time."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from random import Random

import hypothesis
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kschedctl.leaderelection.bounds import Conditions, bounds
from kschedctl.leaderelection.network import (
    ALL,
    LEADER,
    Crash,
    ElectionEvent,
    Fault,
    Partition,
    Scenario,
    SlowApi,
    Upgrade,
)
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation import simulate

#: The settings of kube-scheduler, except that a leader that ends does not release the lease.
SAFE = ElectionSettings(release_on_cancel=False)
KUBE_SCHEDULER = ElectionSettings()


def random_faults(random: Random, scenario: Scenario, times: ElectionSettings) -> tuple[Fault, ...]:
    """1 to 3 random faults that last up to 3 lease durations, with requests no slower than the scenario's."""
    return tuple(random_fault(random, scenario, times) for _ in range(random.randint(1, 3)))


def random_fault(random: Random, scenario: Scenario, times: ElectionSettings) -> Fault:
    at = random.uniform(0, scenario.duration * 0.7)
    until = at + random.uniform(0, 3 * times.lease_duration)
    who = random.choice([LEADER, LEADER, *(str(number) for number in range(1, scenario.candidates + 1))])
    slowest = scenario.longest_request
    match random.randrange(4):
        case 0:
            return Crash(at, random.choice((until, inf)), who)
        case 1 | 2 if slowest > scenario.request:
            return SlowApi(slowest, random.choice((0.0, at)), until, random.choice((who, LEADER, ALL)))
    return Partition(at, until, who)


def partition_after_the_slowest_renewal(times: ElectionSettings, scenario: Scenario) -> Scenario:
    """The worst scenario: a partition of the leader just after a renewal; only its own requests are slow."""
    is_slow = scenario.longest_request > scenario.request
    alone = replace(scenario, faults=(SlowApi(scenario.longest_request, 10.0, who=LEADER),) if is_slow else ())
    writes = [write for write in simulate(times, alone).writes if 10.0 < write.at < scenario.duration / 2]
    at = max(writes, key=lambda write: write.known_at - write.at).known_at + 2e-3
    return replace(alone, faults=(*alone.faults, Partition(at, at + 3 * times.lease_duration)))


def overlapping_seconds(times: ElectionSettings, scenario: Scenario, seeds: range) -> Iterator[float]:
    """The times for which two lead at once in elections with these seeds, every second one with the worst fault."""
    for seed in seeds:
        case = replace(scenario, seed=seed)
        worst = partition_after_the_slowest_renewal(times, case) if seed % 2 else None
        played = worst or replace(case, faults=random_faults(Random(seed), case, times))
        for first, second in simulate(times, played).overlaps():
            yield min(first.end, second.end) - second.start


@st.composite
def settings(draw: st.DrawFn) -> ElectionSettings:
    """Draw election times that client-go accepts."""
    lease = draw(st.integers(2, 60))
    renew = draw(st.floats(0.2, 0.99)) * lease
    retry = draw(st.floats(0.05, 0.8)) * renew
    found = ElectionSettings(
        lease_duration=float(lease), renew_deadline=renew, retry_period=retry, release_on_cancel=draw(st.booleans())
    )
    assume(not list(found.problems()))
    return found


@st.composite
def scenarios(draw: st.DrawFn, times: ElectionSettings) -> Scenario:
    """Draw candidates with inaccurate clocks, and any faults."""
    seed = draw(st.integers(0, 2**32))
    slow = draw(st.sampled_from([0.02, 0.5, times.request_timeout * 0.9]))
    scenario = Scenario(
        candidates=draw(st.integers(2, 5)),
        duration=8 * times.lease_duration,
        faults=(SlowApi(slow),),
        clock_skew=draw(st.sampled_from([0.0, 2.0, 1000.0])),
        clock_drift=draw(st.sampled_from([0.0, 0.001, 0.05, 0.2])),
        seed=seed,
    )
    faults = random_faults(Random(seed), scenario, times)
    upgrade = (Upgrade(draw(st.floats(0, 0.7)) * scenario.duration),) if draw(st.booleans()) else ()
    return replace(scenario, faults=(*faults, *upgrade))


# Most clocks that drift by a fifth leave no bounds.
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.filter_too_much])
@given(st.data())
def test_never_two_leaders_where_the_bounds_say_so(data: st.DataObject) -> None:
    times = data.draw(settings())
    scenario = data.draw(scenarios(times))
    conditions = Conditions(drift=scenario.clock_drift, request=scenario.longest_request)
    assume(bounds(times, conditions).exclusive)
    assert list(simulate(times, scenario).overlaps()) == []


@given(st.integers(0, 2**32), st.floats(0, 1e6))
def test_what_clocks_show_does_not_matter(seed: int, skew: float) -> None:
    """The speed of clocks matters; their absolute time changes only the times in the record."""
    scenario = Scenario(seed=seed)
    scenario = replace(scenario, faults=random_faults(Random(seed), scenario, SAFE))
    ours, skewed = simulate(SAFE, scenario), simulate(SAFE, replace(scenario, clock_skew=skew))
    told = [[(event.who, event.what) for event in timeline.events] for timeline in (ours, skewed)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("times", "scenario"),
    [
        pytest.param(
            KUBE_SCHEDULER,
            Scenario(),
            id="kube-scheduler's own: cut off, it leads until the release has timed out, 17 s after the last renewal",
        ),
        pytest.param(SAFE, Scenario(clock_drift=0.2), id="clocks that run 20 % too fast or too slow"),
        pytest.param(SAFE, Scenario(faults=(SlowApi(4.0),)), id="answers that come 4 s after the renewal"),
        pytest.param(
            replace(SAFE, lease_duration=11.0, renew_deadline=10.0),
            Scenario(),
            id="a lease that is longer than the deadline, but not than deadline and retry period",
        ),
        pytest.param(
            replace(SAFE, lease_duration=10.9, renew_deadline=9.3, retry_period=1.5),
            Scenario(),
            id="a lease of 10.9 s, of which the record has 10",
        ),
    ],
)
def test_two_leaders_are_found_where_the_bounds_do_not_exclude_them(
    times: ElectionSettings, scenario: Scenario
) -> None:
    promised = bounds(times, Conditions(drift=scenario.clock_drift, request=scenario.longest_request))
    assert 0 < next(overlapping_seconds(times, scenario, range(400))) <= promised.overlap


@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_none_are_found_where_they_are_excluded(drift: float) -> None:
    assert not list(overlapping_seconds(SAFE, Scenario(clock_drift=drift), range(100)))


@given(st.data())
def test_another_leads_in_time_after_a_crash(data: st.DataObject) -> None:
    times = data.draw(settings())
    drift = data.draw(st.sampled_from([0.0, 0.05, 0.2]))
    promised = bounds(times, Conditions(drift=drift, request=0.02))
    crash = 4 * times.lease_duration + data.draw(st.floats(0, 10))
    scenario = Scenario(
        candidates=data.draw(st.integers(2, 5)),
        duration=crash + promised.latest + 1,
        faults=(Crash(crash),),
        clock_drift=drift,
        seed=data.draw(st.integers(0, 2**32)),
    )
    timeline = simulate(times, scenario)
    first, second = timeline.terms()
    renewed = max(write.at for write in timeline.writes if write.who == first.who)
    assert first.end == crash
    assert promised.earliest <= second.start - renewed <= promised.latest


def test_one_pause_after_the_lease_is_not_enough() -> None:
    """A standby sees the last renewal up to a pause between attempts late, and its expiry up to another pause later."""
    one_pause = KUBE_SCHEDULER.lease_duration + KUBE_SCHEDULER.longest_pause
    seen = []
    for seed in range(60):
        timeline = simulate(KUBE_SCHEDULER, Scenario(candidates=2, faults=(Crash(40.0),), seed=seed))
        first, second = timeline.terms()
        seen.append(second.start - max(write.at for write in timeline.writes if write.who == first.who))
    assert max(seen) > one_pause
    assert max(seen) <= bounds(KUBE_SCHEDULER, Conditions(request=0.02)).latest


@given(st.integers(0, 2**32))
@example(267)
@example(871)
def test_an_upgrade_hands_the_lease_on_without_waiting_for_its_end(seed: int) -> None:
    """The exception is a SIGTERM during a renewal, which then changes the record before the release."""
    scenario = Scenario(duration=80.0, faults=(Upgrade(20.0),), seed=seed)
    timeline = simulate(KUBE_SCHEDULER, scenario)
    promised = bounds(KUBE_SCHEDULER, Conditions(request=scenario.request))
    assert list(timeline.overlaps()) == []
    led = timeline.terms()[0].start
    ended = [event for event in timeline.events if event.what is ElectionEvent.ENDED]
    assert len(ended) == 3
    kept = [event.at for event in ended if event.detail]
    for start, end in timeline.gaps():
        late = any(start <= at <= end for at in kept)
        assert start < led or end - start <= (promised.latest if late else promised.released)


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        pytest.param(1, [], id="released"),
        pytest.param(
            267,
            [
                "failed to release lease kube-system/kube-scheduler: Operation cannot be fulfilled on "
                'leases.coordination.k8s.io "kube-system/kube-scheduler": the object has been modified; '
                "please apply your changes to the latest version and try again"
            ],
            id="a renewal came between",
        ),
    ],
)
def test_what_kept_a_leader_from_giving_the_lease_up_is_told(seed: int, expected: list[str]) -> None:
    timeline = simulate(KUBE_SCHEDULER, Scenario(duration=80.0, faults=(Upgrade(20.0),), seed=seed))
    assert [event.detail for event in timeline.events if event.what is ElectionEvent.ENDED and event.detail] == expected


@given(st.integers(0, 2**32))
def test_a_partition_costs_at_most_what_a_crash_does(seed: int) -> None:
    timeline = simulate(SAFE, Scenario(faults=(Partition(40.0, 100.0),), seed=seed))
    first, second, *_ = timeline.terms()
    renewed = max(write.at for write in timeline.writes if write.who == first.who)
    assert first.end < second.start <= renewed + bounds(SAFE, Conditions(request=0.02)).latest


@given(st.integers(0, 2**32))
def test_the_same_seed_shows_the_same(seed: int) -> None:
    scenario = Scenario(seed=seed, clock_skew=2.0, clock_drift=0.05, faults=(Crash(20.0, 35.0), Partition(40.0, 70.0)))
    assert simulate(SAFE, scenario).events == simulate(SAFE, scenario).events
