"""The queue of 1.37, whose entries are groups: who is in it, in which order, and how long a group backs off."""

from datetime import UTC, datetime, timedelta

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.pod_group_queue import PodGroupQueue
from kschedctl.trials.simulate.queued_pods import QueuedPodGroupInfo
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group, with_groups

START = datetime(2026, 1, 1, tzinfo=UTC)
GANG = make_pod_group(min_count=2)


class Bench:
    """A queue with a clock that is set by hand, over a cluster with all pods that are added."""

    def __init__(self, *groups: PodGroup) -> None:
        self.time = START
        self.cluster = make_cluster([make_node("a")], [], *groups)
        self.queue = PodGroupQueue(Scheduler(self.cluster, with_groups("1.37")), lambda: self.time)

    def add(self, *pods: Pod) -> None:
        self.see(self.cluster.with_pods(added=pods))
        for pod in pods:
            self.time += timedelta(milliseconds=1)
            self.queue.add(pod)

    def see(self, cluster: Cluster) -> None:
        """Change the cluster that the plugins of the queue read."""
        self.cluster = cluster
        self.queue.scheduler = self.queue.scheduler.moved(cluster)

    def pop(self) -> str:
        """Return the members of the next entry; a pod by itself in brackets."""
        self.entry = self.queue.pop()
        if isinstance(self.entry, QueuedPodGroupInfo):
            return " ".join(info.pod.name for info in self.entry.members)
        return f"[{self.entry.pod.name}]" if self.entry is not None else ""

    def fail(self, code: Code = Code.UNSCHEDULABLE, *bound: str) -> None:
        """Let all members come back from the attempt, without those that were bound."""
        entry = self.entry
        assert isinstance(entry, QueuedPodGroupInfo)
        for info in list(entry.members):
            if info.pod.name not in bound:
                self.queue.add_unschedulable(info)
        self.queue.add_attempted_group(entry, code)

    def waits(self) -> int:
        """Return after how many seconds the next entry is active again."""
        for seconds in range(60):
            self.time += timedelta(seconds=1)
            self.queue.flush_backoff()
            if self.queue.n_active:
                return seconds + 1
        return -1


def test_members_are_one_entry() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("b a"), make_pod("alone"))
    assert [bench.pop(), bench.pop(), bench.pop()] == ["b a", "[alone]", ""]


def test_members_are_in_the_order_of_priority_attempts_time_and_name() -> None:
    bench = Bench(make_pod_group(min_count=1))
    bench.add(*make_members("early"), *make_members("urgent", priority=5), *make_members("late"))
    assert bench.pop() == "urgent early late"
    bench.fail()
    bench.add(*make_members("new"))
    assert bench.waits() > 0
    # Members that were tried come before one that was not.
    assert bench.pop() == "urgent early late new"


def test_the_priority_of_the_group_decides_among_entries() -> None:
    bench = Bench(make_pod_group("low"), make_pod_group("high", priority=9))
    bench.add(*make_members("l", group="low", priority=99), make_pod("p", priority=5), *make_members("h", group="high"))
    assert [bench.pop() for _ in range(3)] == ["h", "[p]", "l"]


def test_members_without_their_group_are_in_no_queue_until_it_exists() -> None:
    bench = Bench()
    bench.add(*make_members("a b"))
    assert bench.pop() == ""
    bench.see(bench.cluster.with_added([GANG]))
    bench.queue.add_group(GANG)
    assert bench.pop() == "a b"


def test_members_leave_the_queue_with_their_group() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    bench.queue.delete_group(GANG)
    assert bench.pop() == ""
    bench.queue.add_group(GANG)
    assert bench.pop() == "a b"


@pytest.mark.parametrize(
    ("pods", "popped"),
    [
        pytest.param(make_members("a"), "", id="1 of 2 exist"),
        pytest.param(make_members("a b"), "a b", id="2 of 2 exist"),
        pytest.param(
            [*make_members("a b"), *make_members("c", schedulingGates=[{"name": "wait"}])],
            "",
            id="one gated member holds back all",
        ),
    ],
)
def test_the_group_is_held_back_as_a_whole(pods: list[Pod], popped: str) -> None:
    bench = Bench(GANG)
    bench.add(*pods)
    assert bench.pop() == popped


def test_a_gate_that_goes_lets_the_group_go_on() -> None:
    bench = Bench(GANG)
    (gated,) = make_members("c", schedulingGates=[{"name": "wait"}])
    bench.add(*make_members("a b"), gated)
    (free,) = make_members("c")
    bench.see(bench.cluster.with_pods(added=[free]))
    bench.queue.update(gated, free)
    assert bench.pop() == "a b c"


def test_back_off_doubles_with_the_failures_up_to_ten_seconds_by_the_square_root_of_the_members() -> None:
    """1s, 2s, 4s, 8s, and then 10s x sqrt(4) = 20s: 16s, 20s; over with the second after its end."""
    bench = Bench(make_pod_group(min_count=4))
    bench.add(*make_members("a b c d"))
    found = []
    for _ in range(7):
        assert bench.pop() == "a b c d"
        bench.fail()
        found.append(bench.waits())
    assert found == [2, 3, 5, 9, 17, 21, 21]


def test_errors_count_in_a_row() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    found = []
    for code in (Code.ERROR, Code.ERROR, Code.UNSCHEDULABLE, Code.ERROR):
        bench.pop()
        bench.fail(code)
        found.append(bench.waits())
    # The first rejection after two errors is the first rejection, and the error after it the first in a row.
    assert found == [2, 3, 2, 2]


def test_a_group_in_back_off_is_not_taken_early() -> None:
    """A group that failed is in the queue of errors; a pod that was rejected is taken when nothing else is active."""
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    bench.pop()
    bench.fail()
    assert (bench.queue.n_backoff, bench.pop()) == (1, "")


def test_the_rest_of_a_group_that_succeeded_is_active_at_once() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b c"))
    bench.pop()
    bench.fail(Code.UNSCHEDULABLE)
    assert bench.waits() == 2
    bench.pop()
    bench.fail(Code.SUCCESS, "a", "b")
    assert bench.pop() == "c"
    # Its back-off is forgotten: the next failure counts as the first.
    bench.fail()
    assert bench.waits() == 2


def test_a_newcomer_joins_the_entry_where_it_is() -> None:
    bench = Bench(GANG)
    bench.add(*make_members("a b"))
    bench.pop()
    bench.add(*make_members("during"))
    bench.fail()
    bench.add(*make_members("after"))
    assert bench.pop() == ""
    assert bench.waits() == 2
    assert bench.pop() == "a b during after"


def test_members_that_are_deleted_leave_the_entry() -> None:
    bench = Bench(make_pod_group())
    one, other = make_members("a b")
    bench.add(one, other)
    bench.queue.delete(one)
    assert bench.pop() == "b"
    bench.fail()
    bench.queue.delete(other)
    assert bench.waits() == -1
