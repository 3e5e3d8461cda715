"""Clocks: what is scheduled happens in its order, on the virtual one at once and on the real one in time."""

import time
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.clock import RealClock, VirtualClock


@given(st.lists(st.floats(0, 100), max_size=20))
def test_events_come_in_their_order_and_those_of_one_time_in_that_of_scheduling(times: list[float]) -> None:
    clock, seen = VirtualClock(), list[tuple[float, int]]()
    for i, at in enumerate(times):
        clock.schedule(at, lambda at=at, i=i: seen.append((clock.now(), i)))  # type: ignore[misc]
    clock.run()
    assert seen == sorted((at, i) for i, at in enumerate(times))


def test_events_may_schedule_others_and_what_has_passed_comes_at_once() -> None:
    clock, seen = VirtualClock(10.0), list[tuple[str, float]]()

    def schedule_another() -> None:
        clock.schedule(5.0, lambda: seen.append(("late", clock.now())))

    clock.schedule(12.0, schedule_another)
    clock.schedule(12.5, lambda: seen.append(("next", clock.now())))
    clock.run_until(20.0)
    assert seen == [("late", 12.0), ("next", 12.5)]
    assert clock.now() == 20.0


def test_what_comes_after_the_moment_waits() -> None:
    clock, seen = VirtualClock(), list[float]()
    clock.schedule(3.0, lambda: seen.append(clock.now()))
    clock.advance(2.9)
    assert (seen, clock.now(), clock.next_at()) == ([], 2.9, 3.0)
    clock.advance(0.1)
    assert seen == [3.0]


def test_what_is_cancelled_does_not_happen() -> None:
    clock, seen = VirtualClock(), list[str]()
    clock.schedule(1.0, lambda: seen.append("cancelled")).cancel()
    clock.schedule(2.0, lambda: seen.append("kept"))
    clock.run()
    assert (seen, clock.next_at()) == (["kept"], None)


def test_real_clock_counts_from_the_epoch_and_keeps_its_appointments() -> None:
    clock, seen = RealClock(), list[str]()
    started = clock.now()
    assert started == pytest.approx(time.time(), abs=60.0)
    clock.schedule(started + 0.05, lambda: seen.append("second"))
    clock.schedule(started, lambda: seen.append("first"))
    clock.schedule(started + 0.02, lambda: seen.append("never")).cancel()
    clock.run()
    assert seen == ["first", "second"]
    assert 0.05 <= clock.now() - started < 5


def test_real_clock_is_woken_by_what_comes_sooner_and_ended_from_another_thread() -> None:
    clock, seen = RealClock(), list[float]()
    started = clock.now()
    clock.schedule(started + 3600, lambda: seen.append(clock.now()))
    thread = Thread(target=clock.run)
    thread.start()
    clock.schedule(started, lambda: clock.stop())
    thread.join(10)
    assert not thread.is_alive()
    assert seen == []
