"""The scheduling queue: who comes next, who waits for what, and which events let a pod go on."""

from datetime import UTC, datetime, timedelta

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD
from kschedctl.trials.simulate.queued_pods import QueuedPodInfo
from kschedctl.trials.simulate.scheduling_queue import BackoffQueue, SchedulingQueue
from tests.builders import make_cluster, make_node, make_pod

START = datetime(2026, 1, 1, tzinfo=UTC)


class Bench:
    """A queue with a clock that is set by hand."""

    def __init__(self, release: str = LATEST.version, **gates: bool) -> None:
        self.time = START
        scheduler = Scheduler(make_cluster([make_node("a")]), RELEASES[release].with_features(gates))
        self.queue = SchedulingQueue(scheduler, lambda: self.time)

    def add(self, *pods: Pod) -> None:
        for pod in pods:
            self.time += timedelta(milliseconds=1)
            self.queue.add(pod)

    def pop(self) -> QueuedPodInfo:
        info = self.queue.pop()
        assert isinstance(info, QueuedPodInfo)
        return info

    def order(self) -> list[str]:
        names = []
        while (entry := self.queue.pop()) is not None:
            names.append(entry.sorted_as.name)
        return names

    def turned_away(self, pod: Pod, *plugins: str) -> None:
        """Let an attempt of a pod fail."""
        self.add(pod)
        info = self.pop()
        info.unschedulable_plugins = set(plugins)
        self.queue.add_unschedulable(info)


def where(bench: Bench) -> str:
    queue = bench.queue
    waiting = [info for info in queue.unschedulable if info.sorted_as.name == "p"]
    return "unschedulable" if waiting else "active" if queue.n_active else "backoff" if queue.n_backoff else "gone"


def test_higher_priority_first_then_the_earlier() -> None:
    bench = Bench()
    bench.add(make_pod("low"), make_pod("high", priority=9), make_pod("low-2"), make_pod("high-2", priority=9))
    assert bench.order() == ["high", "high-2", "low", "low-2"]


def test_a_pod_with_a_gate_is_not_tried_until_the_gate_is_gone() -> None:
    bench = Bench()
    gated = make_pod("p", schedulingGates=[{"name": "wait"}])
    bench.add(gated)
    assert where(bench) == "unschedulable"
    bench.queue.update(gated, make_pod("p"))
    assert where(bench) == "active"


@pytest.mark.parametrize(
    ("plugin", "event", "expected"),
    [
        pytest.param("NodeResourcesFit", "deleted", "backoff", id="room is left by a pod that goes"),
        pytest.param("NodeResourcesFit", "bound", "unschedulable", id="none by one that comes"),
        pytest.param("NodeName", "deleted", "unschedulable", id="a named node is no matter of pods"),
        pytest.param("NodePorts", "deleted", "unschedulable", id="a pod without host ports leaves none"),
        pytest.param("NodeResourcesFit", "node", "backoff", id="a node comes that is large enough"),
        pytest.param("VolumeBinding", "node", "backoff", id="volumes may be on a node that comes"),
        pytest.param("", "bound", "backoff", id="after an error nothing is waited for"),
    ],
)
def test_only_events_that_may_help_wake_a_pod(plugin: str, event: str, expected: str) -> None:
    bench = Bench()
    bench.turned_away(make_pod("p", requests={"cpu": "1"}), *([plugin] if plugin else []))
    other = make_pod("other", node="a")
    if event == "deleted":
        bench.queue.move_all(ASSIGNED_POD_DELETE, other, None)
    elif event == "bound":
        bench.queue.move_all(ASSIGNED_POD_ADD, None, other)
    else:
        bench.queue.move_all(NODE_ADD, None, make_node("b"))
    assert where(bench) == expected


def test_what_happens_while_a_pod_is_tried_counts_for_it() -> None:
    bench = Bench()
    bench.add(make_pod("p", requests={"cpu": "1"}))
    info = bench.pop()
    bench.queue.move_all(ASSIGNED_POD_DELETE, make_pod("other", node="a"), None)
    info.unschedulable_plugins = {"NodeResourcesFit"}
    bench.queue.add_unschedulable(info)
    assert where(bench) == "backoff"


def test_what_happened_before_it_was_tried_does_not() -> None:
    bench = Bench()
    bench.queue.move_all(ASSIGNED_POD_DELETE, make_pod("other", node="a"), None)
    bench.turned_away(make_pod("p", requests={"cpu": "1"}), "NodeResourcesFit")
    assert where(bench) == "unschedulable"


def test_events_may_be_for_some_pods_only() -> None:
    bench = Bench()
    bench.turned_away(make_pod("p", requests={"cpu": "1"}, priority=5), "NodeResourcesFit")
    other = make_pod("other", node="a")
    bench.queue.move_all(ASSIGNED_POD_DELETE, other, None, lambda pod: (pod.spec.priority or 0) <= 4)
    assert where(bench) == "unschedulable"


@pytest.mark.parametrize(("gate", "expected"), [(True, ["p"]), (False, [])])
def test_pods_in_back_off_are_tried_where_nothing_else_is(gate: bool, expected: list[str]) -> None:
    bench = Bench(SchedulerPopFromBackoffQ=gate)
    bench.turned_away(make_pod("p", requests={"cpu": "1"}), "NodeResourcesFit")
    bench.queue.move_all(ASSIGNED_POD_DELETE, make_pod("other", node="a"), None)
    assert where(bench) == "backoff"
    assert bench.order() == expected


def test_a_pod_after_an_error_waits_for_the_end_of_its_back_off() -> None:
    bench = Bench()
    bench.turned_away(make_pod("p"))
    assert bench.order() == []
    assert bench.queue.next_due() == START + timedelta(seconds=2)
    bench.time = START + timedelta(seconds=2)
    bench.queue.flush_backoff()
    assert bench.order() == ["p"]


def test_a_pod_that_nothing_wakes_is_tried_again_after_five_minutes() -> None:
    bench = Bench()
    bench.turned_away(make_pod("p"), "NodeResourcesFit")
    bench.time += timedelta(minutes=5)
    assert not bench.queue.flush_unschedulable()
    bench.time += timedelta(seconds=1)
    assert bench.queue.flush_unschedulable()
    assert bench.order() == ["p"]


def test_a_pod_can_be_activated() -> None:
    bench = Bench()
    bench.turned_away(make_pod("p"), "NodeResourcesFit")
    assert bench.queue.activate("default/p")
    assert not bench.queue.activate("default/p")
    assert where(bench) == "active"


def test_a_pod_that_is_gone_is_nowhere() -> None:
    bench = Bench()
    bench.turned_away(make_pod("p"), "NodeResourcesFit")
    bench.queue.delete(make_pod("p"))
    assert where(bench) == "gone"


def queue(initial: int = 1, longest: int = 10, *, pops_early: bool = True) -> BackoffQueue:
    seconds = timedelta(seconds=1)
    return BackoffQueue(initial * seconds, longest * seconds, lambda info: info.key, pops_early=pops_early)


def failed(name: str, *, at: float = 0.25, unschedulable: int = 0, errors: int = 0) -> QueuedPodInfo:
    info = QueuedPodInfo(make_pod(name), timestamp=START + timedelta(seconds=at))
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
