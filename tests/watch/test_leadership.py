"""Permission to report: never while another replica could hold the Lease, and again once the Lease is back."""

import time
from collections.abc import Callable, Iterator

import pytest

from kschedctl.common.errors import InputError
from kschedctl.leaderelection.locks import LeaderElectionRecord, LockError, MemoryApi, MemoryLock
from kschedctl.leaderelection.runner import held_for
from kschedctl.leaderelection.settings import ElectionSettings, Steps
from kschedctl.watch.leadership import Alone, Elected

NAME = "shop/watch"
#: A lease that a busy machine renews in time.
TIMES = ElectionSettings(lease_duration=200.0, renew_deadline=100.0, retry_period=0.1)
#: A lease that expires soon.
SHORT = ElectionSettings(lease_duration=2.0, renew_deadline=1.0, retry_period=0.1)
Join = Callable[..., tuple[Elected, "Cuttable", list[str]]]


class Cuttable(MemoryLock):
    """A lock that is unreachable while it is cut off."""

    cut = False

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        self._check()
        return (yield from super().get(until))

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        self._check()
        yield from super().update(record, until)

    def _check(self) -> None:
        if self.cut:
            raise LockError("no route to host")


@pytest.fixture
def api() -> MemoryApi:
    return MemoryApi()


@pytest.fixture
def join(api: MemoryApi) -> Iterator[Join]:
    """Return a function that starts a replica."""
    copies: list[Elected] = []

    def join(identity: str, times: ElectionSettings = TIMES) -> tuple[Elected, Cuttable, list[str]]:
        lock, told = Cuttable(api, NAME, identity), list[str]()
        copies.append(Elected(lambda clock: lock, times, told.append))
        copies[-1].start()
        return copies[-1], lock, told

    yield join
    for copy in copies:
        copy.stop()


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_who_is_alone_always_leads() -> None:
    assert Alone().left > 1e9
    assert not Alone().check()


def test_one_of_two_leads_and_the_other_says_that_it_does_not(join: Join) -> None:
    first, _, _ = join("first")
    wait_for(lambda: first.left > 0)
    assert first.left <= held_for(TIMES)
    second, _, told = join("second")
    wait_for(lambda: bool(told))
    assert told == [
        "watch is held by first: nothing is reported until this replica acquires it".replace("watch", NAME, 1)
    ]
    assert second.left == 0
    assert not first.check()


def test_leader_that_ends_gives_the_lease_up(join: Join, api: MemoryApi) -> None:
    first, _, _ = join("first")
    wait_for(lambda: first.left > 0)
    second, _, _ = join("second")
    first.stop()
    assert first.left == 0
    assert api.get(NAME).record.holder_identity in ("", "second")
    wait_for(lambda: second.left > 0)


def test_leader_that_is_cut_off_leads_no_more_before_another_does_and_then_stands_again(join: Join) -> None:
    first, lock, told = join("first", SHORT)
    wait_for(lambda: first.left > 0)
    second, _, _ = join("second", SHORT)
    lock.cut = True

    def taken_over() -> bool:
        # In this order: what holds of the first must hold once the second leads.
        led, still = second.left > 0, first.left > 0
        assert not (led and still)
        return led

    wait_for(taken_over)
    assert any("is lost" in text for text in told)
    lock.cut = False
    second.stop()
    wait_for(lambda: first.left > 0)


def test_times_that_no_candidate_starts_with_are_refused(api: MemoryApi) -> None:
    times = ElectionSettings(lease_duration=1.0, renew_deadline=2.0)
    with pytest.raises(InputError, match="leaseDuration must be greater than renewDeadline"):
        Elected(lambda clock: MemoryLock(api, NAME, "us"), times, lambda text: None)


def test_mistake_in_its_thread_is_raised_where_it_is_asked(join: Join, api: MemoryApi) -> None:
    class Broken(MemoryLock):
        def get(self, until: float) -> Steps[LeaderElectionRecord]:
            raise ZeroDivisionError

    copy = Elected(lambda clock: Broken(api, NAME, "us"), TIMES, lambda text: None)
    copy.start()
    with pytest.raises(ZeroDivisionError):
        wait_for(lambda: copy.left > 0)
