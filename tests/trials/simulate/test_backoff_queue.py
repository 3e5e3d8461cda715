"""Back-off: how long a pod waits, and when its wait is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kschedctl.trials.simulate.backoff_queue import BackoffQueue
from kschedctl.trials.simulate.queued_pod import QueuedPodInfo
from tests.builders import make_pod

START = datetime(2026, 1, 1, tzinfo=UTC)


def queue(initial: int = 1, longest: int = 10, *, pops_early: bool = True) -> BackoffQueue:
    seconds = timedelta(seconds=1)
    return BackoffQueue(initial * seconds, longest * seconds, lambda info: info.key, pops_early=pops_early)


def failed(name: str, *, at: float = 0.25, unschedulable: int = 0, errors: int = 0) -> QueuedPodInfo:
    info = QueuedPodInfo(make_pod(name), START + timedelta(seconds=at))
    info.unschedulable_count, info.consecutive_errors = unschedulable, errors
    info.unschedulable_plugins = {"NodeResourcesFit"} if unschedulable and not errors else set()
    return info


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        pytest.param(1, 1, id="the initial back-off"),
        pytest.param(2, 2, id="twice as long"),
        pytest.param(4, 8, id="eight times as long"),
        pytest.param(5, 10, id="never longer than the longest"),
        pytest.param(80, 10, id="nor after very many failures"),
    ],
)
def test_back_off_doubles(failures: int, seconds: int) -> None:
    # Failed at 0.25 s; the end is at the full second before.
    assert queue().expiration(failed("a", unschedulable=failures)) == START + timedelta(seconds=seconds)


def test_errors_in_a_row_count_on_their_own() -> None:
    assert queue().expiration(failed("a", unschedulable=5, errors=1)) == START + timedelta(seconds=1)


def test_without_early_pops_back_off_ends_to_the_microsecond() -> None:
    info = failed("a", unschedulable=1)
    assert queue(pops_early=False).expiration(info) == START + timedelta(seconds=1.25)


def test_a_pod_that_never_failed_does_not_back_off() -> None:
    assert not queue().is_backing_off(failed("a"), START)


def test_no_longest_means_no_back_off() -> None:
    assert not queue(longest=0, initial=0).is_backing_off(failed("a", unschedulable=3), START)


@pytest.mark.parametrize(("at", "over"), [(1.0, False), (1.999, False), (2.0, True)])
def test_back_off_is_over_with_the_window_after_its_end(at: float, over: bool) -> None:
    backoff = queue()
    backoff.add(failed("a", unschedulable=1))
    done = backoff.pop_completed(START + timedelta(seconds=at))
    assert [info.sorted_as.name for info in done] == (["a"] if over else [])
    assert backoff.next_completion() == (None if over else START + timedelta(seconds=2))


def test_pods_of_one_window_are_in_the_order_of_the_active_queue() -> None:
    backoff = queue()
    for name, at in (("b", 0.1), ("a", 0.9), ("c", 1.1)):
        backoff.add(failed(name, at=at, unschedulable=1))
    taken = [backoff.unschedulable.pop() for _ in range(3)]
    assert [info.sorted_as.name for info in taken if info is not None] == ["a", "b", "c"]


def test_pods_after_an_error_are_kept_apart() -> None:
    backoff = queue()
    backoff.add(failed("a", errors=1))
    assert (len(backoff.failed), len(backoff.unschedulable)) == (1, 0)
    assert "default/a" in backoff
    assert backoff.remove("default/a") is not None
    assert len(backoff) == 0
