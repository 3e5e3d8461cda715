"""Victims by chance: compared with the victims of snapshots that list the same pods in every order."""

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.preemption.tied_victims import MOST_COUNTED, PossibleVictims, possible_victims
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, running


def victims_by_chance(pods: list[Pod], *objects: Any, cpu: str = "3", **fields: Any) -> PossibleVictims:
    cluster = make_cluster([make_node("a", cpu="4")], pods, *objects)
    decision = decide(make_pod("preemptor", requests={"cpu": cpu}, priority=100, **fields), cluster)
    found = decision.preemption
    assert found is not None
    assert found.run is not None
    return possible_victims(decision.framework, decision.state, decision.pod, found.run, 0)


def names(pods: list[Pod], sets: Iterable[Iterable[int]]) -> set[str]:
    return {" ".join(sorted(pods[index].name for index in victims)) for victims in sets}


CASES = [
    pytest.param([running("x", "a", "2"), running("y", "a", "2", start=LATE)], "2", {"y"}, id="no tie: the later one"),
    pytest.param([running("x", "a", "2"), running("y", "a", "2")], "2", {"x", "y"}, id="two equal pods"),
    pytest.param([running("x", "a", "2"), running("y", "a", "2")], "4", {"x y"}, id="all tied pods are victims"),
    pytest.param([running(name, "a", "1") for name in "xyz"], "3", {"x y", "x z", "y z"}, id="two of three equal pods"),
    pytest.param(
        [running("large", "a", "2"), running("x", "a", "1"), running("y", "a", "1")],
        "2",
        {"large", "x y"},
        id="sets of different sizes",
    ),
    pytest.param(
        [running("x", "a", "2"), running("y", "a", "2", priority=5), running("z", "a", "0")],
        "2",
        {"x"},
        id="priorities differ",
    ),
]


@pytest.mark.parametrize(("pods", "cpu", "expected"), CASES)
def test_sets(pods: list[Pod], cpu: str, expected: set[str]) -> None:
    found = victims_by_chance(pods, cpu=cpu)
    assert names(pods, found.sets) == expected
    assert (found.n_sets, found.complete) == (len(expected), True)


def test_a_budget_protects_some_pod_of_each_order() -> None:
    pods = [running(name, "a", "2", labels={"app": "web"}) for name in "xy"]
    found = victims_by_chance(pods, budget("web", "web", 1), cpu="2")
    assert names(pods, found.sets) == {"x", "y"}
    assert found.certain == frozenset()


def test_certain_and_possible_pods() -> None:
    pods = [running("low", "a", "1", priority=-5), *(running(name, "a", "1") for name in "xy")]
    found = victims_by_chance(pods, cpu="3")
    assert names(pods, [found.certain]) == {"low"}
    assert names(pods, [found.possible]) == {"low x y"}


def test_many_different_pods_are_tried_in_random_orders() -> None:
    pods = [running(f"p-{i}", "a", f"{100 + 10 * i}m", labels={"number": str(i)}) for i in range(20)]
    found = victims_by_chance(pods, cpu="2")
    assert not found.complete
    assert len(found.sets) == 10
    assert found.n_sets > 10


def test_millions_of_sets_are_not_counted() -> None:
    pods = [running(f"p-{i}", "a", "100m") for i in range(40)]
    found = victims_by_chance(pods, cpu="2")
    assert (found.n_sets, found.complete, len(found.possible)) == (MOST_COUNTED, True, 40)


POD = st.tuples(st.sampled_from(["500m", "1", "1500m"]), st.sampled_from([0, 0, 5]), st.sampled_from(["", "web"]))


@given(st.lists(POD, min_size=2, max_size=4), st.sampled_from(["2", "3"]), st.sampled_from([0, 1]))
def test_equals_the_victims_of_every_order_in_the_snapshot(
    kinds: list[tuple[str, int, str]], cpu: str, allowed: int
) -> None:
    pods = [
        running(f"p-{i}", "a", amount, priority, start=EARLY, labels={"app": app} if app else {})
        for i, (amount, priority, app) in enumerate(kinds)
    ]
    covered = budget("web", "web", allowed)
    expected: set[str] = set()
    for order in map(list, permutations(pods)):
        cluster = make_cluster([make_node("a", cpu="4")], order, covered)
        found = decide(make_pod("preemptor", requests={"cpu": cpu}, priority=100), cluster).preemption
        if found is None or not found.candidates:
            return
        expected |= names(order, [[victim.pod for victim in found.candidates[0].victims]])
    possible = victims_by_chance(pods, covered, cpu=cpu)
    assert possible.complete
    assert possible.n_sets == len(expected)
    assert names(pods, possible.sets) == expected if len(expected) <= 10 else names(pods, possible.sets) < expected
