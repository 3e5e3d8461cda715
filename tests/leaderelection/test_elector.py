"""A single candidate: the effect of an attempt on the record, and the next step."""

from dataclasses import replace
from random import Random

import pytest

from kschedctl.common.clock import VirtualClock
from kschedctl.common.errors import InputError
from kschedctl.leaderelection.elector import Callbacks, HealthzAdaptor, LeaderElector, Outage
from kschedctl.leaderelection.locks import LeaderElectionRecord, LockError, MemoryApi, MemoryLock
from kschedctl.leaderelection.settings import Actor, ElectionSettings, Steps

NAME = "kube-system/kube-scheduler"
START = 1000.0
SETTINGS = ElectionSettings()


class CountingLock(MemoryLock):
    """A lock that records its calls, and fails on demand."""

    def __init__(self, api: MemoryApi, identity: str) -> None:
        super().__init__(api, NAME, identity)
        self.asked: list[str] = []
        self.failing: set[str] = set()

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        self._ask("get")
        return (yield from super().get(until))

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        self._ask("create")
        yield from super().create(record, until)

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        self._ask("update")
        yield from super().update(record, until)

    def _ask(self, verb: str) -> None:
        self.asked.append(verb)
        if verb in self.failing:
            raise LockError("no route to host")


class World:
    """A record, a clock, and candidates."""

    def __init__(self, settings: ElectionSettings = SETTINGS) -> None:
        self.api, self.clock, self.settings = MemoryApi(), VirtualClock(START), settings
        self.told: list[tuple[float, str, str]] = []

    def candidate(self, identity: str) -> tuple[LeaderElector, CountingLock]:
        def note(what: str) -> None:
            self.told.append((self.clock.now(), identity, what))

        lock = CountingLock(self.api, identity)
        callbacks = Callbacks(
            started_leading=lambda: note("started"),
            stopped_leading=lambda: note("stopped"),
            new_leader=lambda leader: note(f"leader {leader}"),
            same_identity=lambda: note("same identity"),
        )
        return LeaderElector(lock, self.settings, self.clock, random=Random(1), callbacks=callbacks), lock

    @property
    def record(self) -> LeaderElectionRecord:
        return self.api.get(NAME).record

    def said(self, identity: str, what: str) -> list[float]:
        return [at for at, who, told in self.told if (who, told) == (identity, what)]


def at_once(steps: Steps[bool]) -> bool:
    """Return the outcome of an attempt that does not wait."""
    try:
        next(steps)
    except StopIteration as ended:
        return bool(ended.value)
    raise AssertionError("it waits")


def held(by: str, *, since: float = START - 100, transitions: int = 3, duration: int = 15) -> LeaderElectionRecord:
    return LeaderElectionRecord(
        holder_identity=by,
        lease_duration_seconds=duration,
        acquire_time=since,
        renew_time=START - 1,
        leader_transitions=transitions,
    )


@pytest.mark.parametrize(
    ("there", "wait", "taken", "asked", "holder", "acquired", "transitions"),
    [
        pytest.param(
            None, 0, True, "get create", "a", START, 0, id="nobody ever led: it is made, without a transition"
        ),
        pytest.param(held("b"), 0, False, "get", "b", START - 100, 3, id="held, and seen for the first time: refused"),
        pytest.param(held("b"), 14.9, False, "get get", "b", START - 100, 3, id="seen 14.9 s ago: still refused"),
        pytest.param(held("b"), 15, True, "get get update", "a", START + 15, 4, id="seen 15 s ago: taken over"),
        pytest.param(held("b", duration=60), 15, False, "get get", "b", START - 100, 3, id="the record says how long"),
        pytest.param(held("b", duration=0), 0, True, "get update", "a", START, 4, id="a lease of 0 s holds nobody off"),
        pytest.param(held("", duration=1), 0, True, "get update", "a", START, 4, id="given up: taken at once"),
        pytest.param(held("a"), 0, True, "get update", "a", START - 100, 3, id="its own of before: kept as it was"),
    ],
)
def test_a_try_to_acquire(
    there: LeaderElectionRecord | None,
    wait: float,
    taken: bool,
    asked: str,
    holder: str,
    acquired: float,
    transitions: int,
) -> None:
    world = World()
    if there is not None:
        world.api.create(NAME, there)
    elector, lock = world.candidate("a")
    outcome = at_once(elector.try_acquire_or_renew())
    if wait:
        assert not outcome
        world.clock.advance(wait)
        outcome = at_once(elector.try_acquire_or_renew())
    record = world.record
    assert (outcome, " ".join(lock.asked)) == (taken, asked)
    assert (record.holder_identity, record.acquire_time, record.leader_transitions) == (holder, acquired, transitions)
    assert elector.is_leader == taken
    if taken:
        assert (record.renew_time, record.lease_duration_seconds) == (world.clock.now(), 15)


def test_a_renewal_puts_the_end_off_whatever_its_times_say() -> None:
    """The standby uses the time at which it saw the record change, as the record's times are of another clock."""
    world = World()
    world.api.create(NAME, replace(held("b"), renew_time=START - 10_000))
    elector, _ = world.candidate("a")
    for renewed in (START - 9_990, START - 9_980):
        assert not at_once(elector.try_acquire_or_renew())
        world.clock.advance(14)
        seen = world.api.get(NAME)
        world.api.update(NAME, replace(seen.record, renew_time=renewed), seen.resource_version)
    assert not at_once(elector.try_acquire_or_renew())
    world.clock.advance(15)
    assert at_once(elector.try_acquire_or_renew())


def test_a_renewal_within_the_same_second_is_not_seen() -> None:
    world = World()
    world.api.create(NAME, replace(held("b"), renew_time=START + 0.1))
    elector, _ = world.candidate("a")
    assert not at_once(elector.try_acquire_or_renew())
    world.clock.advance(0.7)
    seen = world.api.get(NAME)
    world.api.update(NAME, replace(seen.record, renew_time=START + 0.8), seen.resource_version)
    assert not at_once(elector.try_acquire_or_renew())
    world.clock.advance(14.3)
    assert at_once(elector.try_acquire_or_renew())


def test_a_leader_updates_without_reading_and_reads_where_that_fails() -> None:
    world = World()
    elector, lock = world.candidate("a")
    assert at_once(elector.try_acquire_or_renew())
    world.clock.advance(2)
    assert at_once(elector.try_acquire_or_renew())
    assert lock.asked == ["get", "create", "update"]
    assert (world.record.acquire_time, world.record.renew_time) == (START, START + 2)
    # Somebody adds a label: the version moves, the record does not.
    seen = world.api.get(NAME)
    world.api.update(NAME, seen.record, seen.resource_version)
    assert at_once(elector.try_acquire_or_renew())
    assert lock.asked[3:] == ["update", "get", "update"]
    assert world.record.leader_transitions == 0


def test_a_leader_whose_lease_has_ended_reads_first() -> None:
    world = World()
    elector, lock = world.candidate("a")
    assert at_once(elector.try_acquire_or_renew())
    world.clock.advance(15)
    assert at_once(elector.try_acquire_or_renew())
    assert lock.asked[2:] == ["get", "update"]
    assert (world.record.acquire_time, world.record.leader_transitions) == (START, 0)


def test_a_leader_learns_that_another_has_taken_over() -> None:
    world = World()
    elector, _ = world.candidate("a")
    assert at_once(elector.try_acquire_or_renew())
    seen = world.api.get(NAME)
    world.api.update(NAME, held("b"), seen.resource_version)
    assert not at_once(elector.try_acquire_or_renew())
    assert (elector.is_leader, elector.leader, world.record.holder_identity) == (False, "b", "b")


def test_of_two_that_take_over_at_once_one_does() -> None:
    """Both read the same version; the second update is rejected."""
    world = World()
    world.api.create(NAME, held("", duration=1))
    (first, _), (second, lock) = world.candidate("a"), world.candidate("b")
    reading = lock.get(0)
    with pytest.raises(StopIteration):
        next(reading)
    assert at_once(first.try_acquire_or_renew())
    with pytest.raises(LockError, match="the object has been modified"):
        next(lock.update(held("b"), 0))
    assert not at_once(second.try_acquire_or_renew())
    assert world.record.holder_identity == "a"


@pytest.mark.parametrize("verb", ["get", "create"])
def test_a_request_that_fails_is_a_try_that_fails(verb: str) -> None:
    world = World()
    elector, lock = world.candidate("a")
    lock.failing = {verb}
    assert not at_once(elector.try_acquire_or_renew())
    assert (elector.is_leader, elector.renewed_at) == (False, None)


def run(world: World, identity: str) -> tuple[Actor, LeaderElector, CountingLock]:
    elector, lock = world.candidate(identity)
    return Actor(world.clock, elector.run()), elector, lock


def test_a_leader_renews_every_retry_period() -> None:
    world = World()
    _, elector, _ = run(world, "a")
    world.clock.advance(61)
    assert (world.record.renew_time, world.record.acquire_time) == (START + 60, START)
    assert elector.renewed_at == START + 60
    assert world.told == [(START, "a", "leader a"), (START, "a", "started")]


def test_a_standby_tries_after_one_to_2_2_retry_periods() -> None:
    world = World()
    world.api.create(NAME, held("b", duration=10_000))
    _, _, lock = run(world, "a")
    world.clock.advance(6_000)
    tries = len(lock.asked)
    # On average 1.6 periods of 2 s.
    assert 6_000 / 3.4 < tries < 6_000 / 3.0


def test_a_leader_that_cannot_renew_ends_at_the_deadline_and_releases() -> None:
    world = World()
    _, _, lock = run(world, "a")
    world.clock.advance(10)
    lock.failing = {"update", "get"}
    lock.asked.clear()
    world.clock.advance(60)
    # The last success was at 10; a retry period later it tries for 10 s, every 2 s, and then to release.
    assert world.said("a", "stopped") == [START + 10 + 2 + 10]
    assert lock.asked == ["update", "get"] * 5 + ["get"]
    assert world.record.holder_identity == "a"
    assert lock.events == ["a became leader", "a stopped leading"]


def test_what_fails_for_a_while_is_borne() -> None:
    world = World()
    _, _, lock = run(world, "a")
    world.clock.advance(10)
    lock.failing = {"update"}
    world.clock.advance(9)
    lock.failing = set()
    world.clock.advance(60)
    assert world.said("a", "stopped") == []


def test_who_is_cancelled_gives_the_lease_up() -> None:
    world = World()
    actor, elector, lock = run(world, "a")
    world.clock.advance(7)
    actor.cancel()
    assert actor.ended
    assert world.record == LeaderElectionRecord(
        lease_duration_seconds=1, acquire_time=START + 7, renew_time=START + 7, leader_transitions=0
    )
    assert world.told[-1] == (START + 7, "a", "stopped")
    assert (elector.is_leader, lock.events[-1]) == (False, "a stopped leading")


def test_who_is_cancelled_without_release_leaves_the_record() -> None:
    world = World(replace(SETTINGS, release_on_cancel=False))
    actor, *_ = run(world, "a")
    world.clock.advance(7)
    actor.cancel()
    assert (world.record.holder_identity, world.said("a", "stopped")) == ("a", [START + 7])


def test_who_never_led_has_stopped_as_well() -> None:
    world = World()
    world.api.create(NAME, held("b"))
    actor, _, lock = run(world, "a")
    world.clock.advance(3)
    actor.cancel()
    assert world.told == [(START, "a", "leader b"), (START + 3, "a", "stopped")]
    assert (world.record.holder_identity, lock.events) == ("b", [])


def test_who_is_killed_does_nothing_more() -> None:
    world = World()
    actor, *_ = run(world, "a")
    world.clock.advance(7)
    actor.kill()
    world.clock.advance(100)
    assert (world.record.holder_identity, world.record.renew_time) == ("a", START + 6)
    assert world.said("a", "stopped") == []


def test_the_next_one_leads_and_counts() -> None:
    world = World()
    first, *_ = run(world, "a")
    world.clock.advance(1)
    run(world, "b")
    world.clock.advance(9)
    first.kill()
    world.clock.advance(30)
    (took_over,) = world.said("b", "started")
    assert START + 8 + 15 <= took_over <= START + 8 + 15 + 2 * SETTINGS.longest_pause
    assert world.record.leader_transitions == 1


def test_release_overwrites_the_lease_of_another_unless_it_looks() -> None:
    """client-go checks only the record that it saw last: it then reads another holder's lease and releases it."""
    for looks, holder in ((False, ""), (True, "b")):
        world = World(replace(SETTINGS, release_checks_holder=looks))
        elector, _ = world.candidate("a")
        assert at_once(elector.try_acquire_or_renew())
        world.api.update(NAME, held("b"), world.api.get(NAME).resource_version)
        assert at_once(elector.release())
        assert world.record.holder_identity == holder


@pytest.mark.parametrize(
    ("there", "wait", "kept"),
    [
        pytest.param(held("a"), 0, True, id="its own: kept"),
        pytest.param(held("b"), 0, False, id="another's: left alone"),
        pytest.param(held("b"), 20, False, id="another's that has ended: left to the controller"),
        pytest.param(replace(held("a"), preferred_holder="b"), 0, False, id="its own, for which another is preferred"),
        pytest.param(None, 0, False, id="none: left to the controller"),
    ],
)
def test_coordinated_election_only_ever_keeps(there: LeaderElectionRecord | None, wait: float, kept: bool) -> None:
    world = World(replace(SETTINGS, coordinated=True))
    if there is not None:
        world.api.create(NAME, replace(there, strategy="OldestEmulationVersion"))
    elector, lock = world.candidate("a")
    outcome = at_once(elector.try_coordinated_renew())
    if wait:
        world.clock.advance(wait)
        outcome = at_once(elector.try_coordinated_renew())
    assert outcome == kept == ("update" in lock.asked)
    if kept:
        assert (world.record.renew_time, world.record.strategy) == (START, "OldestEmulationVersion")
        assert (world.record.acquire_time, world.record.leader_transitions) == (START - 100, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ElectionSettings(lease_duration=10), "leaseDuration must be greater than renewDeadline"),
        (ElectionSettings(renew_deadline=2.4), "renewDeadline must be greater than retryPeriod*JitterFactor"),
        (
            ElectionSettings(lease_duration=0, renew_deadline=-1, retry_period=-2),
            "leaseDuration must be greater than zero",
        ),
        (
            ElectionSettings(lease_duration=1, renew_deadline=0, retry_period=-1),
            "renewDeadline must be greater than zero",
        ),
        (ElectionSettings(retry_period=0), "retryPeriod must be greater than zero"),
    ],
)
def test_settings_are_refused_in_the_words_of_client_go(settings: ElectionSettings, message: str) -> None:
    with pytest.raises(InputError) as raised:
        LeaderElector(MemoryLock(MemoryApi(), NAME, "a"), settings, VirtualClock())
    assert str(raised.value) == message


def test_a_candidate_has_a_name() -> None:
    with pytest.raises(InputError, match="Lock identity is empty"):
        LeaderElector(MemoryLock(MemoryApi(), NAME, ""), SETTINGS, VirtualClock())


@pytest.mark.parametrize(
    ("age", "leads", "healthy"), [(0, True, True), (34.9, True, True), (35.1, True, False), (1000, False, True)]
)
def test_health(age: float, leads: bool, healthy: bool) -> None:
    """A leader stays healthy up to 20 s beyond a lease of 15 s, and a standby is always healthy."""
    world, check = World(), HealthzAdaptor(20)
    assert check.check() == ""
    if not leads:
        world.api.create(NAME, held("b"))
    elector, _ = world.candidate("a")
    check.set_leader_election(elector)
    assert at_once(elector.try_acquire_or_renew()) == leads
    world.clock.advance(age)
    assert (check.check() == "") == healthy
    if not healthy:
        assert check.check() == f"failed election to renew leadership on lease {NAME}"


@pytest.mark.parametrize(
    ("there", "told"),
    [
        pytest.param(held("a"), [START], id="held under its own identity before it has written"),
        pytest.param(held("a", duration=0), [], id="an expired record of its own, from before a restart"),
        pytest.param(held("b"), [], id="held by another"),
    ],
)
def test_another_process_of_the_same_identity_is_reported(there: LeaderElectionRecord, told: list[float]) -> None:
    world = World()
    world.api.create(NAME, there)
    elector, _ = world.candidate("a")
    at_once(elector.try_acquire_or_renew())
    assert world.said("a", "same identity") == told


def test_two_processes_of_one_identity_are_both_told() -> None:
    world = World()
    first, second = world.candidate("a")[0], world.candidate("a")[0]
    for elector in (first, second, first, second):
        at_once(elector.try_acquire_or_renew())
        world.clock.advance(1)
    # The second when it starts, and each of them when the other one has renewed.
    assert world.said("a", "same identity") == [START + 1, START + 2, START + 3]


def test_a_renewal_whose_response_was_lost_is_not_another_process() -> None:
    world = World()
    elector, lock = world.candidate("a")
    at_once(elector.try_acquire_or_renew())
    world.clock.advance(2)

    def lose(record: LeaderElectionRecord, until: float) -> Steps[None]:
        yield from MemoryLock.update(lock, record, until)
        raise LockError("timeout")

    lock.update = lose  # type: ignore[method-assign]
    assert not at_once(elector.try_acquire_or_renew())
    del lock.update
    world.clock.advance(2)
    assert at_once(elector.try_acquire_or_renew())
    assert world.said("a", "same identity") == []


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ("refused", ["refused"]),
        ("refused refused refused", ["refused"]),
        ("refused slow refused slow", ["refused", "slow"]),
        ("refused -", ["refused"]),
        ("refused refused slow - -", ["refused", "slow", "it is back after 3 failed attempts"]),
        ("refused refused - refused", ["refused", "it is back after 2 failed attempts", "refused"]),
        ("- -", []),
    ],
)
def test_outage(attempts: str, said: list[str]) -> None:
    told: list[str] = []
    outage = Outage(told.append)
    for attempt in attempts.split():
        if attempt == "-":
            outage.ended("it is back")
        else:
            outage.failed(attempt)
    assert told == said
