from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.controllers.workloads.template import uid_of
from kschedctl.scheduler.framework.interface import MAX_PERMIT_SECONDS
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status
from kschedctl.scheduler.framework.waiting_pods import WaitingPod, WaitingPods
from tests.builders import make_cluster, make_pod
from tests.scheduler.framework.plugins import make_framework

START = 1_767_225_600.0
TWO = {"Gang": 10.0, "Quota": 90.0}


def after(seconds: float) -> float:
    return START + seconds


def unschedulable(plugin: str, message: str) -> Status:
    return Status(Code.UNSCHEDULABLE, (message,), plugin)


Step = Callable[[WaitingPods, WaitingPod], object]


def allow(plugin: str) -> Step:
    return lambda pods, pod: pod.allow(plugin)


def reject(plugin: str, message: str = "no") -> Step:
    return lambda pods, pod: pod.reject(plugin, message)


def at(seconds: float) -> Step:
    return lambda pods, pod: pods.due(after(seconds))


def late(plugin: str, wait: str) -> Status:
    return unschedulable(plugin, f"rejected due to timeout after waiting {wait} at plugin {plugin}")


ONE = {"Gang": 10.0}
REJECTED = unschedulable("Gang", "no")
PREEMPTED = Status(Code.ERROR, ("waiting on permit for pod: preempted",), "DefaultPreemption")
LONGEST = {"Gang": MAX_PERMIT_SECONDS}
CASES: dict[str, tuple[dict[str, float], list[Step], Status | None]] = {
    "nobody says anything": (ONE, [], None),
    "the only plugin allows it": (ONE, [allow("Gang")], SUCCESS),
    "one of two allows it": (TWO, [allow("Gang")], None),
    "both allow it, in any order": (TWO, [allow("Quota"), allow("Gang")], SUCCESS),
    "allowing twice is allowing once": (TWO, [allow("Gang"), allow("Gang")], None),
    "a plugin that is not waited for allows it": (TWO, [allow("Other")], None),
    "one of two rejects it": (TWO, [reject("Gang")], REJECTED),
    "one allows it, then rejects it": (TWO, [allow("Gang"), reject("Gang")], REJECTED),
    "a plugin that is not waited for rejects it": (TWO, [reject("Other")], unschedulable("Other", "no")),
    "the first rejection counts": (TWO, [reject("Gang"), reject("Quota", "late")], REJECTED),
    "no rejection once it went on": (ONE, [allow("Gang"), reject("Gang")], SUCCESS),
    "no way back once it is rejected": (TWO, [reject("Gang"), allow("Gang"), allow("Quota")], REJECTED),
    "preemption makes it no unschedulable pod": (
        TWO,
        [lambda pods, pod: pod.preempt("DefaultPreemption", "preempted")],
        PREEMPTED,
    ),
    "it is removed while it waits": (TWO, [lambda pods, pod: pods.reject(pod.uid)], unschedulable("", "removed")),
    "just before the smallest time-out": (TWO, [at(9.999)], None),
    "the smallest time-out wins": (TWO, [at(10)], late("Gang", "10s")),
    "also when nobody looked in between": (TWO, [at(1000)], late("Gang", "10s")),
    "who allowed it has no time-out any more": (TWO, [allow("Gang"), at(10)], None),
    "then the next one counts": (TWO, [allow("Gang"), at(90)], late("Quota", "1m30s")),
    "of two equal ones that of the first plugin": ({"B": 5.0, "A": 5.0}, [at(5)], late("B", "5s")),
    "no time at all": ({"Gang": 0.0}, [at(0)], late("Gang", "0s")),
    "less than a second": ({"Gang": 0.25}, [at(1)], late("Gang", "250ms")),
    "the longest wait there is": (LONGEST, [at(900)], late("Gang", "15m0s")),
}


@pytest.mark.parametrize(("waits", "steps", "status"), CASES.values(), ids=CASES)
def test_what_comes_of_a_waiting_pod(waits: dict[str, float], steps: list[Step], status: Status | None) -> None:
    pods = WaitingPods()
    waiting = pods.add(make_pod("web"), waits, START)
    for step in steps:
        step(pods, waiting)
    assert waiting.status == status
    assert pods.settled() == ([] if status is None else [(waiting.pod, status)])
    assert len(pods) == (status is None)
    assert pods.settled() == []


def test_only_the_first_answer_settles() -> None:
    waiting = WaitingPods().add(make_pod("web"), TWO, START)
    assert [waiting.reject("Gang", "no"), waiting.reject("Gang", "no"), waiting.preempt("P", "x")] == [
        True,
        False,
        False,
    ]


def test_pods_time_out_one_after_the_other() -> None:
    pods = WaitingPods()
    for name, seconds in (("a", 30.0), ("b", 10.0), ("c", 20.0)):
        pods.add(make_pod(name), {"Gang": seconds}, START)
    told = []
    while (now := pods.next_due) is not None:
        pods.due(now)
        told.append((now - START, [pod.name for pod, _ in pods.settled()]))
    assert told == [(10, ["b"]), (20, ["c"]), (30, ["a"])]


def test_several_that_are_settled_come_in_the_order_in_which_they_began_to_wait() -> None:
    pods = WaitingPods()
    for name in "abc":
        pods.add(make_pod(name), {"Gang": 10.0}, START)
    for waiting in reversed(list(pods)):
        waiting.allow("Gang")
    assert [pod.name for pod, _ in pods.settled()] == ["a", "b", "c"]


def test_a_settled_pod_is_seen_until_it_is_taken_out() -> None:
    pods = WaitingPods()
    waiting = pods.add(make_pod("web"), {"Gang": 10.0}, START)
    waiting.allow("Gang")
    assert (list(pods), pods.next_due, waiting.deadline) == ([waiting], None, None)


@pytest.mark.parametrize("uid", ["", "4711"], ids=["a pod of a manifest has no uid yet", "a pod of an API server"])
def test_plugins_reach_waiting_pods_through_their_handle(uid: str) -> None:
    pod = make_pod("web")
    pod = replace(pod, metadata=replace(pod.metadata, uid=uid))
    pods = WaitingPods()
    handle = make_framework(make_cluster([]), waiting_pods=pods).handle
    assert (list(handle.iterate_over_waiting_pods()), handle.get_waiting_pod(uid_of(pod))) == ([], None)
    waiting = pods.add(pod, TWO, START)
    assert list(handle.iterate_over_waiting_pods()) == [waiting]
    assert handle.get_waiting_pod(uid or uid_of(pod)) is waiting
    assert waiting.pending_plugins == ("Gang", "Quota")
    assert handle.reject_waiting_pod(uid_of(pod))
    assert not handle.reject_waiting_pod("unknown")


ACTS = st.one_of(
    st.tuples(st.just("allow"), st.sampled_from("ABC")),
    st.tuples(st.just("reject"), st.sampled_from("ABC")),
    st.tuples(st.just("pass"), st.integers(0, 8)),
)


@given(st.dictionaries(st.sampled_from("ABC"), st.integers(0, 20), min_size=1), st.lists(ACTS, max_size=8))
def test_a_pod_goes_on_exactly_when_all_allowed_it_in_time(
    waits: dict[str, int], acts: list[tuple[str, str | int]]
) -> None:
    pods = WaitingPods()
    waiting = pods.add(make_pod("web"), {name: float(seconds) for name, seconds in waits.items()}, START)
    pending, now, expected = dict(waits), 0, ""
    for act, value in acts:
        if act == "pass":
            now += int(value)
            pods.due(after(now))
            late = [name for name, seconds in pending.items() if seconds <= now]
            expected = expected or (f"late {min(late, key=pending.__getitem__)}" if late else "")
        elif act == "allow":
            waiting.allow(str(value))
            pending.pop(str(value), None)
            expected = expected or ("" if pending else "goes on")
        else:
            waiting.reject(str(value), "no")
            expected = expected or f"rejected {value}"
    status = waiting.status
    said = "" if status is None else "goes on" if status is SUCCESS else status.plugin
    assert said == expected.removeprefix("late ").removeprefix("rejected ")
