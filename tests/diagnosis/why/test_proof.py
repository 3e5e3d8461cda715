"""The new pods of those that a suggestion deletes: pending, preempting in turn, or placed elsewhere."""

from typing import Any

import pytest

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.diagnosis.pending_groups import group_pending_pods
from kschedctl.diagnosis.why.proof import pending_words, recreated_pods, recreation_consequences
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.unblocking_changes import unblock
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
    decision = Scheduler(cluster).decide(make_pod("web", requests={"cpu": "4"}, preemptionPolicy="Never"))
    found = [each for each in suggest(decision, 20).suggestions if each.evicts]
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
        pytest.param([occupant(owner=None)], "1", [], id="no controller recreates it"),
    ],
)
def test_the_new_pod_of_a_deleted_one(pods: list[Pod], spare: str, expected: list[str]) -> None:
    assert consequences(*pods, spare=spare) == expected


def test_new_pods_have_different_names() -> None:
    pods = [make_pod(f"low-{i}", node="a", owner=RS) for i in range(2)]
    new = recreated_pods(make_cluster([make_node("a")], pods), ["default/low-0", "default/low-1"], release=LATEST)
    assert len({pod.name for pod in new.values()} | {pod.name for pod in pods}) == 4


@pytest.mark.parametrize(("spare", "unplaced"), [("3", ()), ("1", ("default/low-1",))])
def test_a_change_for_many_pods_names_new_pods_that_stay_pending(spare: str, unplaced: tuple[str, ...]) -> None:
    nodes = [make_node("a"), make_node("b", cpu=spare)]
    waiting = make_pod("web", requests={"cpu": "3500m"}, nodeSelector={"kubernetes.io/hostname": "a"})
    scheduler = Scheduler(make_cluster(nodes, [occupant(), waiting]))
    pods = [scheduler.cluster.pods.pod(index) for index in pending_pods(scheduler.cluster)]
    found = unblock(scheduler, group_pending_pods(scheduler, pods), 3)
    evicting = [change for change in found.changes if change.evicts]
    assert [(change.evicts, change.unplaced) for change in evicting] == [(("default/low-1",), unplaced)]


def test_words() -> None:
    assert list(pending_words(())) == []
    assert list(pending_words(("a/b", "a/c"))) == ["the new pods of a/b and a/c stay pending"]
