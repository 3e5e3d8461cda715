"""The best placement of pods in groups: gangs whole or not at all, in one domain, and evicted as a whole."""

from collections import Counter
from typing import Any

import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.comparison import Comparison, compare
from kschedctl.trials.optimum.gangs import Gang
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.question import pose
from kschedctl.trials.optimum.trial import Refusal, prove
from tests.builders import make_cluster, make_node, make_pod
from tests.gangs import GROUPING, RACK, make_group, make_members


def host(name: str, cpu: int, rack: str = "") -> Node:
    return make_node(name, cpu=str(cpu), labels={RACK: rack} if rack else {})


def gang(name: str, number: int, cpu: int = 1, **fields: Any) -> list[Pod]:
    return list(make_members(number, name, requests={"cpu": str(cpu)}, **fields))


def ask(version: str, hosts: list[Node], pods: list[Pod], *groups: ApiObject) -> Comparison:
    return compare(Scheduler(make_cluster(hosts, pods, *groups), GROUPING[version]), seconds=600)


def placed(comparison: Comparison) -> dict[str, int]:
    """Return the number of placed pods by the first part of their names."""
    return dict(Counter(step.pod.name.partition("-")[0] for step in comparison.steps))


R1_AND_R2 = [host("a", 2, "r1"), host("b", 2, "r1"), host("c", 3, "r2"), host("d", 9)]


@pytest.mark.parametrize("version", GROUPING)
@pytest.mark.parametrize(
    ("hosts", "pods", "groups", "expected"),
    [
        pytest.param(
            [host("a", 4)],
            gang("x", 3) + gang("y", 2),
            [make_group("x", 3), make_group("y", 2)],
            {"x": 3},
            id="one gang",
        ),
        pytest.param(
            [host("a", 5)],
            gang("x", 3) + gang("y", 2),
            [make_group("x", 3), make_group("y", 2)],
            {"x": 3, "y": 2},
            id="both gangs",
        ),
        pytest.param([host("a", 4)], gang("x", 6), [make_group("x", 3)], {"x": 4}, id="more than minCount"),
        pytest.param([host("a", 4)], gang("x", 6), [make_group("x", 5)], {}, id="fewer than minCount"),
        pytest.param([host("a", 4)], gang("x", 6), [make_group("x")], {"x": 4}, id="the basic policy"),
        pytest.param(
            R1_AND_R2, gang("x", 4), [make_group("x", 4, topology=RACK)], {"x": 4}, id="in the rack with four CPUs"
        ),
        pytest.param(R1_AND_R2, gang("x", 5), [make_group("x", 5, topology=RACK)], {}, id="in no rack"),
        pytest.param(
            R1_AND_R2,
            [*gang("x", 3), make_pod("x-9", node="c", schedulingGroup={"podGroupName": "x"})],
            [make_group("x", 4, topology=RACK)],
            {"x": 3},
            id="in the rack of the member on a node",
        ),
        pytest.param(
            R1_AND_R2,
            [*gang("x", 4), make_pod("x-9", node="c", schedulingGroup={"podGroupName": "x"})],
            [make_group("x", 5, topology=RACK)],
            {},
            id="not in another rack than the member on a node",
        ),
        pytest.param([host("a", 4)], gang("x", 2), [make_group("x", 3)], {}, id="too few pods"),
    ],
)
def test_the_best_placement(
    version: str, hosts: list[Node], pods: list[Pod], groups: list[ApiObject], expected: dict[str, int]
) -> None:
    comparison = ask(version, hosts, pods, *groups)
    assert placed(comparison) == expected
    assert comparison.best.proven


def test_the_scheduler_places_the_wrong_gang() -> None:
    # x comes first and takes four of five CPUs; y and z fill them.
    pods = gang("x", 4) + gang("y", 3) + gang("z", 2)
    comparison = ask("1.37", [host("a", 5)], pods, *(make_group(n, m) for n, m in (("x", 4), ("y", 3), ("z", 2))))
    assert placed(comparison) == {"y": 3, "z": 2}
    assert comparison.places_more


@pytest.mark.parametrize("version", GROUPING)
@pytest.mark.parametrize(
    ("whole", "evicted"),
    [
        pytest.param(False, 1, id="single members leave one by one"),
        pytest.param(True, 3, id="a group with the mode all leaves as a whole"),
    ],
)
def test_evictions(version: str, whole: bool, evicted: int) -> None:
    low = [
        make_pod(f"low-{node}", node=node, requests={"cpu": "2"}, priority=-5, schedulingGroup={"podGroupName": "low"})
        for node in "abc"
    ]
    group = make_group("low", 3, priority=-5, whole=whole)
    comparison = ask(version, [host(node, 2) for node in "abc"], [*low, *gang("x", 2)], group, make_group("x", 2))
    assert placed(comparison) == {"x": 2}
    assert len(comparison.left) == evicted


def test_a_group_of_which_a_part_must_stay_is_not_evicted() -> None:
    # A member that is being deleted can no longer be preempted.
    fields: dict[str, Any] = {"requests": {"cpu": "2"}, "priority": -5, "schedulingGroup": {"podGroupName": "low"}}
    low = [make_pod("low-a", node="a", **fields), make_pod("low-b", node="b", terminating=True, **fields)]
    cluster = make_cluster(
        [host("a", 2), host("b", 2)], [*low, make_pod("p", requests={"cpu": "2"})], make_group("low", 2, whole=True)
    )
    assert pose(Scheduler(cluster, GROUPING["1.37"])).occupants == ()


@pytest.mark.parametrize(
    ("placement", "kept"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({(0, 0): 2, (0, 1): 1}, True, id="enough in one rack"),
        pytest.param({(0, 0): 2}, False, id="too few"),
        pytest.param({(0, 0): 2, (0, 2): 1}, False, id="in two racks"),
        pytest.param({(0, 3): 3}, False, id="on a node without a rack"),
    ],
)
def test_a_placement_that_breaks_a_gang_is_refused(placement: dict[tuple[int, int], int], kept: bool) -> None:
    cluster = make_cluster(R1_AND_R2, gang("x", 3), make_group("x", 3, topology=RACK))
    question = pose(Scheduler(cluster, GROUPING["1.37"]))
    assert [each.min_count for each in question.gangs if isinstance(each, Gang)] == [3]
    proof = prove(question, Placement(placement))
    assert isinstance(proof, Refusal) != kept
    if isinstance(proof, Refusal):
        assert proof.plugins == {"GangScheduling"}


def test_a_gate_at_one_member_holds_the_group_back() -> None:
    pods = [*gang("x", 2), make_pod("x-9", schedulingGates=[{"name": "wait"}], schedulingGroup={"podGroupName": "x"})]
    scheduler = Scheduler(make_cluster([host("a", 4)], pods, make_group("x", 2)), GROUPING["1.37"])
    assert set(pose(scheduler).gated) == {"default/x-0", "default/x-1", "default/x-9"}


def test_without_gates_members_are_placed_one_by_one() -> None:
    cluster = make_cluster([host("a", 4)], gang("x", 6), make_group("x", 5))
    assert placed(compare(Scheduler(cluster), seconds=600)) == {"x": 4}


@pytest.mark.parametrize(
    ("version", "fields", "expected"),
    [
        ("1.36", {"schedulerName": "default-scheduler"}, {"x": 2}),
        ("1.37", {"schedulerName": "default-scheduler"}, {"x": 2}),
        ("1.36", {"priority": 5}, {"x": 2}),
        ("1.37", {"priority": 5}, {}),
    ],
)
def test_members_that_disagree_are_not_placed(version: str, fields: dict[str, Any], expected: dict[str, int]) -> None:
    comparison = ask(version, [host("a", 4)], gang("x", 2, **fields), make_group("x", 2))
    assert placed(comparison) == expected
    assert len(comparison.question.gated) == 2 - expected.get("x", 0)
