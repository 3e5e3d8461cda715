"""Victims as units: which pods go together, by which priority, and in which order they are put back."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import POD_GROUPS_1_36, POD_GROUPS_1_37, PodGroupRules
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.victims import VictimUnit, units_in_order_of_reprieve, victim_units
from tests.builders import make_cluster, make_node, make_pod_group
from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, running

IN: dict[str, dict[str, Any]] = {
    group: {"schedulingGroup": {"podGroupName": group}} for group in ("whole", "single", "gone")
}
GROUPS = (
    make_pod_group("whole", disrupts_all=True, priority=7),
    make_pod_group("single", priority=7),
)


def made(*pods: Pod) -> Cluster:
    return make_cluster([make_node("a"), make_node("b")], pods, *GROUPS)


def shown(cluster: Cluster, units: list[VictimUnit]) -> str:
    """Return the pods of each unit, with its priority: ``x+y:7 z:0``."""
    names = [("+".join(cluster.pods.records[i].metadata.name for i in unit.pods), unit.priority) for unit in units]
    return " ".join(f"{pods}:{priority}" for pods, priority in names)


@pytest.mark.parametrize(
    ("rules", "pods", "expected"),
    [
        pytest.param(POD_GROUPS_1_37, [running("p", "a", "1", 3)], "p:3", id="a pod is a unit"),
        pytest.param(
            POD_GROUPS_1_37,
            [running("p", "a", "1", 3, **IN["single"]), running("q", "b", "1", 3, **IN["single"])],
            "p:7 q:7",
            id="1.37: members go one by one, by the priority of their group",
        ),
        pytest.param(
            POD_GROUPS_1_36,
            [running("p", "a", "1", 3, **IN["single"])],
            "p:3",
            id="1.36: members go one by one, by their own priority",
        ),
        pytest.param(
            POD_GROUPS_1_37,
            [running("p", "a", "1", 3, **IN["whole"]), running("q", "b", "1", 3, **IN["whole"])],
            "p+q:7",
            id="1.37: a whole group, on all nodes",
        ),
        pytest.param(
            POD_GROUPS_1_36,
            [running("p", "a", "1", 3, **IN["whole"]), running("q", "b", "1", 3, **IN["whole"])],
            "p+q:7",
            id="1.36: a whole group, by its priority too",
        ),
        pytest.param(
            POD_GROUPS_1_37, [running("p", "a", "1", 3, **IN["gone"])], "p:3", id="a group that does not exist"
        ),
    ],
)
def test_units(rules: PodGroupRules, pods: list[Pod], expected: str) -> None:
    cluster = made(*pods)
    assert shown(cluster, victim_units(cluster, range(len(pods)), rules)) == expected


def test_a_whole_group_is_found_from_one_member() -> None:
    cluster = made(running("p", "a", "1", **IN["whole"]), running("q", "b", "1", **IN["whole"]))
    assert shown(cluster, victim_units(cluster, [1], POD_GROUPS_1_37)) == "p+q:7"


@pytest.mark.parametrize(("rules", "start"), [(POD_GROUPS_1_36, LATE), (POD_GROUPS_1_37, EARLY)], ids=["1.36", "1.37"])
def test_a_group_starts_with_its_first_member_by_node_in_1_36_and_by_time_later(
    rules: PodGroupRules, start: str
) -> None:
    cluster = made(
        running("p", "a", "1", start=LATE, **IN["whole"]),
        running("q", "b", "1", start=EARLY, **IN["whole"]),
        running("other", "b", "1", start=start),
    )
    group, other = victim_units(cluster, [0, 1, 2], rules)
    assert group.start_time == other.start_time


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        pytest.param([(0, False, 1, 0), (5, False, 1, 0)], [1, 0], id="higher priority first"),
        pytest.param([(0, False, 1, 0), (0, True, 1, 9)], [1, 0], id="then a pod of a group over one without"),
        pytest.param([(0, True, 1, 0), (0, True, 3, 9)], [1, 0], id="then more pods"),
        pytest.param([(0, True, 2, 9), (0, True, 2, 0)], [1, 0], id="then the earlier start"),
    ],
)
def test_more_important_first(units: list[tuple[int, bool, int, int]], expected: list[int]) -> None:
    made = [VictimUnit((0,) * n, priority, of_group, start) for priority, of_group, n, start in units]
    assert [made.index(unit) for unit in sorted(made, key=lambda unit: unit.importance)] == expected


def test_a_budget_protects_a_group_as_a_whole() -> None:
    """Units that break a budget are put back first; one of their pods is enough."""
    web: dict[str, Any] = {"labels": {"app": "web"}}
    cluster = make_cluster(
        [make_node("a"), make_node("b")],
        [
            running("important", "a", "1", 9),
            running("p", "a", "1", **IN["whole"]),
            running("q", "b", "1", **web, **IN["whole"]),
        ],
        *GROUPS,
        budget("none", "web", 0),
    )
    units = victim_units(cluster, [0, 1, 2], POD_GROUPS_1_37)
    order, violating = units_in_order_of_reprieve(cluster, units, get_pod_disruption_budgets(cluster))
    assert shown(cluster, order) == "p+q:7 important:9"
    assert violating == {2}


def test_a_budget_protects_the_less_important_ones() -> None:
    """A budget that allows one eviction is used up by the more important pod, so that the other one breaks it."""
    web: dict[str, Any] = {"labels": {"app": "web"}}
    pods = [running("low", "a", "1", 1, **web), running("high", "a", "1", 2, **web)]
    cluster = make_cluster([make_node("a")], pods, budget("one", "web", 1))
    order, violating = units_in_order_of_reprieve(
        cluster, victim_units(cluster, [0, 1], POD_GROUPS_1_37), get_pod_disruption_budgets(cluster)
    )
    assert (shown(cluster, order), violating) == ("low:1 high:2", frozenset({0}))
