"""The new pods of those that a suggestion deletes, and the changes that place most of the pods that wait."""

from typing import Any

import pytest

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.diagnosis.pending_groups import PendingGroup, group_pending_pods
from kschedctl.diagnosis.why.proof import pending_words, recreated_pods, recreation_consequences
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.unblocking_changes import UnblockingResult, unblock
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_node, make_pod

RS = ("apps/v1", "ReplicaSet", "low")


def occupant(owner: tuple[str, str, str] | None = RS, **fields: Any) -> Pod:
    return make_pod("low-1", node="a", requests={"cpu": "3"}, owner=owner, **fields)


def consequences(old: Pod, *others: Pod, spare: str) -> list[str]:
    """The outcome for the pod that is deleted on node a; node b has some free CPU, but not enough for the pod."""
    cluster = make_cluster([make_node("a"), make_node("b", cpu=spare)], [old, *others])
    pod = make_pod("web", requests={"cpu": "4"}, preemptionPolicy="Never", priority=1)
    decision = Scheduler(cluster).decide(pod)
    found = [each for each in suggest(decision, 20).suggestions if each.remedies[0].evicts]
    assert [each.evicts for each in found] == [("default/low-1",)]
    return list(recreation_consequences(found[0]))


@pytest.mark.parametrize(
    ("pods", "spare", "expected"),
    [
        pytest.param([occupant()], "3", [], id="it fits elsewhere"),
        pytest.param([occupant()], "1", ["the new pod of default/low-1 stays pending"], id="it fits nowhere"),
        pytest.param(
            [occupant(), make_pod("idle", node="b", requests={"cpu": "1"}, priority=-1)],
            "3",
            ["the new pod of default/low-1 preempts other pods in turn"],
            id="it preempts another pod",
        ),
        pytest.param(
            [occupant(owner=None)],
            "1",
            ["default/low-1 is lost for good: no controller recreates it"],
            id="no controller recreates it",
        ),
    ],
)
def test_the_new_pod_of_a_deleted_one(pods: list[Pod], spare: str, expected: list[str]) -> None:
    assert consequences(*pods, spare=spare) == expected


def test_no_suggestion_puts_a_pod_that_is_as_important_in_the_place_of_another() -> None:
    cluster = make_cluster([make_node("a"), make_node("b", cpu="1")], [occupant()])
    decision = Scheduler(cluster).decide(make_pod("web", requests={"cpu": "4"}))
    assert [each.evicts for each in suggest(decision, 20).suggestions if each.evicts] == []


def test_new_pods_have_different_names() -> None:
    pods = [make_pod(f"low-{i}", node="a", owner=RS) for i in range(2)]
    new = recreated_pods(make_cluster([make_node("a")], pods), ["default/low-0", "default/low-1"], release=LATEST)
    assert len({pod.name for pod in new.values()} | {pod.name for pod in pods}) == 4


@pytest.mark.parametrize(("spare", "unplaced"), [("3", ()), ("1", ("default/low-1",))])
def test_a_change_for_many_pods_names_new_pods_that_stay_pending(spare: str, unplaced: tuple[str, ...]) -> None:
    nodes = [make_node("a"), make_node("b", cpu=spare)]
    waiting = make_pod(
        "web",
        requests={"cpu": "3500m"},
        nodeSelector={"kubernetes.io/hostname": "a"},
        preemptionPolicy="Never",
        priority=1,
    )
    scheduler = Scheduler(make_cluster(nodes, [occupant(), waiting]))
    pods = [scheduler.cluster.pods.pod(index) for index in pending_pods(scheduler.cluster)]
    found = unblock(scheduler, group_pending_pods(scheduler, pods), 3)
    evicting = [change for change in found.changes if change.evicts]
    assert [(change.evicts, change.unplaced) for change in evicting] == [(("default/low-1",), unplaced)]


def test_words() -> None:
    assert list(pending_words(())) == []
    assert list(pending_words(("a/b", "a/c"))) == ["the new pods of a/b and a/c stay pending"]


WEB = ("apps/v1", "ReplicaSet", "web-1")


def waiting(nodes: list[Node], running: list[Pod], pods: list[Pod]) -> tuple[list[PendingGroup], UnblockingResult]:
    scheduler = Scheduler(make_cluster(nodes, [*running, *pods]))
    index = scheduler.cluster.pods.index
    stored = [scheduler.cluster.pods.pod(index[pod.namespace, pod.name]) for pod in pods]
    groups = group_pending_pods(scheduler, stored)
    return groups, unblock(scheduler, groups)


def told(found: UnblockingResult) -> list[tuple[str, int]]:
    return [(one.summary, len(one.placed)) for one in found.changes]


def test_pods_of_one_workload_that_wait_for_the_same_are_one_group() -> None:
    web = [make_pod(f"web-{i}", requests={"cpu": "3"}, owner=WEB) for i in range(3)]
    other = make_pod("other", nodeSelector={"pool": "none"})
    groups, _ = waiting([make_node("a")], [make_pod("x", node="a", requests={"cpu": "2"})], [*web, other])
    assert [(group.workload[2], len(group.pods)) for group in groups] == [("web-1", 3), ("other", 1)]


def test_so_many_nodes_as_all_pods_of_a_group_need() -> None:
    web = [make_pod(f"web-{i}", requests={"cpu": "2"}, owner=WEB) for i in range(5)]
    _, found = waiting([make_node("a")], [make_pod("x", node="a", requests={"cpu": "4"})], web)
    assert ("add 3 nodes like a", 5) in told(found)


def test_changes_add_up() -> None:
    """Each is made after those above it, so that what one has placed is not promised again."""
    web = [make_pod(f"web-{i}", requests={"cpu": "2"}, owner=WEB) for i in range(4)]
    nodes = [make_node("a", taints=["gpu:NoSchedule"])]
    _, found = waiting(nodes, [], web)
    assert sum(len(one.placed) for one in found.changes) == len(found.together)
    assert not set(found.changes[0].placed) & {pod for one in found.changes[1:] for pod in one.placed}


def test_pods_that_fit_take_each_others_room() -> None:
    pods = [make_pod(f"p-{i}", requests={"cpu": "3"}) for i in range(2)]
    groups, found = waiting([make_node("a")], [], pods)
    assert [(group.fits, len(group.pods)) for group in groups] == [(True, 2)]
    assert found.anyway == ("default/p-0",)
    # What would place the other is looked for with the first in place.
    assert list(found.later) == ["default/p-1"]
    assert told(found) == [("add a node like a", 1)]


def test_pods_that_preempt_are_left_to_preemption() -> None:
    urgent = make_pod("urgent", requests={"cpu": "3"}, priority=100)
    groups, found = waiting([make_node("a")], [make_pod("x", node="a", requests={"cpu": "2"})], [urgent])
    assert groups[0].preempts
    assert found.changes == ()


def test_nobody_waits() -> None:
    groups, found = waiting([make_node("a")], [], [])
    assert groups == []
    assert found == UnblockingResult((), (), {}, (), ())


def test_a_request_that_all_pods_fit_with() -> None:
    web = [make_pod(f"web-{i}", requests={"cpu": "2600m"}, owner=WEB) for i in range(2)]
    # No node like these is large enough, and the request that fits on the larger one places a single pod.
    _, found = waiting([make_node("a", cpu="2500m"), make_node("b", cpu="2100m")], [], web)
    summary, placed = told(found)[0]
    assert summary.startswith("request 2.1 cpu or less instead of 2.6")
    assert placed == 2
