"""Gangs on a single node of 4 cpu, in ``pending``, ``simulate`` and ``watch``: one case per outcome of a group."""

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.simulate.answer import GroupResult, SimulatedGroupData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_cycle import DecidedGroups
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.watch.pod_answers import PodAnswer
from tests.builders import make_cluster, make_node, make_pod, make_pod_group

GATES = {
    "1.36": {"GenericWorkload": True, "GangScheduling": True, "WorkloadAwarePreemption": True},
    "1.37": {"GenericWorkload": True},
}


def group(name: str, least: int | None, priority: int = 0) -> PodGroup:
    return make_pod_group(name, min_count=least, priority=priority)


def member(of: str, number: int, *, priority: int = 0) -> Pod:
    return make_pod(f"{of}-{number}", requests={"cpu": "2"}, priority=priority, schedulingGroup={"podGroupName": of})


def loaded(version: str, *objects: ApiObject) -> LoadedCluster:
    pods = [each for each in objects if isinstance(each, Pod)]
    groups = [each for each in objects if isinstance(each, PodGroup)]
    cluster = make_cluster([make_node("a", cpu="4")], pods, *groups)
    snapshot = Snapshot(cluster=cluster, paths=("here",), scheduler_config=None, left_out={})
    return loaded_cluster(snapshot, kubernetes_version=version, feature_gates=GATES[version])


FITS = group("g", 2), member("g", 0), member("g", 1)
PART = group("g", 2), *(member("g", i) for i in range(3))
BASIC = group("g", None), *(member("g", i) for i in range(3))
TOO_LARGE = group("g", 3), *(member("g", i) for i in range(3))
WAITS = group("g", 2), member("g", 0)
ON_NODE = make_pod("low", node="a", requests={"cpu": "3"})
EVICTS = group("g", 2, 9), *(member("g", i, priority=9) for i in range(2)), ON_NODE


def test_an_attempt_that_ends_with_an_error_is_told_in_the_words_of_the_scheduler() -> None:
    objects = group("g", 2), member("g", 0), member("g", 1, priority=5)
    problem = "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0"
    _, found = outcome("1.37", *objects)
    assert (found.result, found.cause, found.count, found.message) == (GroupResult.WAITING, problem, "", problem)
    assert SchedulingCluster(loaded("1.37", *objects)).pending(changes=0).groups[0].why == problem


def outcome(version: str, *objects: ApiObject) -> tuple[str, SimulatedGroupData]:
    answer = SchedulingCluster(loaded(version, *objects)).simulate()
    assert len(answer.groups) == 1
    return answer.summary, answer.groups[0]


@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("objects", "result", "placed", "gangs"),
    [
        pytest.param(FITS, GroupResult.PLACED, 2, "gangs: 1 placed whole", id="fits"),
        pytest.param(PART, GroupResult.PART, 2, "gangs: 1 placed in part", id="one more pod than fit"),
        pytest.param(BASIC, GroupResult.PART, 2, "", id="basic policy"),
        pytest.param(TOO_LARGE, GroupResult.WAITING, 0, "gangs: 1 waits", id="too large"),
        pytest.param(WAITS, GroupResult.GATED, 0, "gangs: 1 waits", id="too few pods"),
        pytest.param(EVICTS, GroupResult.PLACED, 2, "gangs: 1 placed whole", id="evicts"),
    ],
)
def test_the_outcome_of_a_simulation(
    version: str, objects: tuple[ApiObject, ...], result: GroupResult, placed: int, gangs: str
) -> None:
    summary, found = outcome(version, *objects)
    assert (found.result, found.placed) == (result, placed)
    assert summary.partition("gangs:")[1:] == gangs.partition("gangs:")[1:]
    assert bool(found.waiting) == bool(found.cause)


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_a_gang_for_which_preemption_helps_says_so(version: str) -> None:
    only = SchedulingCluster(loaded(version, *EVICTS)).pending(changes=0).groups[0]
    assert only.preempts
    assert only.why.startswith("1 of 2 members find a node, 2 are needed") or only.why.startswith("0 of 2 members")
    assert only.why.endswith("; preemption would help")


def test_changes_for_a_gang_are_those_without_preemption() -> None:
    # The priority of a group counts for its members on nodes too, and so does their policy.
    started = make_pod("g-9", node="a", requests={"cpu": "1"}, schedulingGroup={"podGroupName": "g"})
    found = SchedulingCluster(loaded("1.37", *TOO_LARGE, started)).pending()
    assert [(change.summary, len(change.would_place)) for change in found.changes] == [("add a node like a", 3)]


def test_pods_that_a_scheduled_gang_leaves_out_have_their_own_answer() -> None:
    cluster = loaded("1.37", *PART)
    decide = DecidedGroups(cluster.decide).decide
    answers = [PodAnswer.of(decide(cluster.find(f"default/g-{i}"))) for i in range(3)]
    assert [answer.outcome for answer in answers] == [Outcome.SCHEDULED, Outcome.SCHEDULED, Outcome.UNSCHEDULABLE]
    assert answers[2].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_group_is_decided_for_once() -> None:
    cluster = loaded("1.37", *TOO_LARGE, make_pod("alone"))
    asked: list[str] = []

    def decide(pod: Pod) -> Decision:
        asked.append(pod.name)
        return cluster.decide(pod)

    groups = DecidedGroups(decide)
    decisions = [groups.decide(cluster.find(f"default/{name}")) for name in ("g-0", "g-1", "alone", "g-2")]
    assert asked == ["g-0", "alone"]
    no = Outcome.UNSCHEDULABLE
    assert [decision.outcome for decision in decisions] == [no, no, Outcome.SCHEDULED, no]
