"""Victims of preemption as units: which pods are evicted together, and which units are put back first."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.victim_units import VictimUnits, in_order_of_reprieve, victim_units, violating_pods
from tests.builders import make_cluster, make_node, make_pod, make_pod_group, with_groups
from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, running

IN: dict[str, dict[str, Any]] = {
    group: {"schedulingGroup": {"podGroupName": group}} for group in ("whole", "single", "gone")
}
GROUPS = (make_pod_group("whole", disrupts_all=True, priority=7), make_pod_group("single", priority=7))


def made(*pods: Pod) -> Cluster:
    return make_cluster([make_node("a"), make_node("b")], pods, *GROUPS)


def units_of(cluster: Cluster, *pods: int, version: str = "1.37") -> VictimUnits:
    """Return the units of some pods, by default of all."""
    indices = np.array(pods or range(len(cluster.pods)), dtype=np.int64)
    return victim_units(cluster, indices, with_groups(version))


def shown(cluster: Cluster, units: VictimUnits) -> str:
    """Return the pods of each unit, with its priority: ``x+y:7 z:0``."""
    pods = [units.pods[units.entries(unit)].tolist() for unit in range(len(units))]
    names = ["+".join(cluster.pods.records[pod].metadata.name for pod in each) for each in pods]
    return " ".join(f"{each}:{priority}" for each, priority in zip(names, units.priority.tolist(), strict=True))


@pytest.mark.parametrize(
    ("version", "pods", "expected"),
    [
        pytest.param("1.37", [running("p", "a", "1", 3)], "p:3", id="a pod is a unit"),
        pytest.param(
            "1.37",
            [running("p", "a", "1", 3, **IN["single"]), running("q", "b", "1", 3, **IN["single"])],
            "p:7 q:7",
            id="1.37: members go one by one, by the priority of their group",
        ),
        pytest.param(
            "1.36",
            [running("p", "a", "1", 3, **IN["single"])],
            "p:3",
            id="1.36: members go one by one, by their own priority",
        ),
        pytest.param(
            "1.37",
            [running("p", "a", "1", 3, **IN["whole"]), running("q", "b", "1", 3, **IN["whole"])],
            "p+q:7",
            id="1.37: a whole group, on all nodes",
        ),
        pytest.param(
            "1.36",
            [running("p", "a", "1", 3, **IN["whole"]), running("q", "b", "1", 3, **IN["whole"])],
            "p+q:7",
            id="1.36: a whole group, by its priority too",
        ),
        pytest.param("1.37", [running("p", "a", "1", 3, **IN["gone"])], "p:3", id="a group that does not exist"),
        pytest.param(
            "1.38",
            [running("p", "a", "1", 3, **IN["whole"]), running("q", "b", "1", 3, **IN["whole"])],
            "p+q:3",
            id="1.38: a whole group, by the priority of its pods",
        ),
        pytest.param(
            "1.38", [running("p", "a", "1", 3, **IN["single"])], "p:3", id="1.38: members go by their own priority"
        ),
    ],
)
def test_units(version: str, pods: list[Pod], expected: str) -> None:
    cluster = made(*pods)
    assert shown(cluster, units_of(cluster, version=version)) == expected


def test_a_whole_group_is_found_from_one_member() -> None:
    cluster = made(running("p", "a", "1", **IN["whole"]), running("q", "b", "1", **IN["whole"]))
    units = units_of(cluster, 1)
    assert shown(cluster, units) == "p+q:7"
    assert units.groups == {0: "default/whole"}


@pytest.mark.parametrize(("version", "start"), [("1.36", LATE), ("1.37", EARLY), ("1.38", EARLY)])
def test_a_group_starts_with_its_first_member_by_node_in_1_36_and_by_time_later(version: str, start: str) -> None:
    cluster = made(
        running("p", "a", "1", start=LATE, **IN["whole"]),
        running("q", "b", "1", start=EARLY, **IN["whole"]),
        running("other", "b", "1", start=start),
    )
    of_group, of_other = units_of(cluster, version=version).start_time.tolist()
    assert of_group == of_other


def test_units_keep_their_place_among_pods_without_a_group() -> None:
    cluster = made(
        running("first", "a", "1", 1),
        running("p", "a", "1", **IN["whole"]),
        running("second", "a", "1", 2),
        running("q", "b", "1", **IN["whole"]),
        running("r", "b", "1", **IN["single"]),
    )
    units = units_of(cluster)
    assert shown(cluster, units) == "first:1 p+q:7 second:2 r:7"
    assert shown(cluster, units.take(np.array([3, 1]))) == "r:7 p+q:7"
    assert not len(units.take(np.zeros(0, dtype=np.int64)))


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        pytest.param([(0, 0, 1, 0, ""), (5, 0, 1, 0, "")], [1, 0], id="higher priority first"),
        pytest.param([(0, 0, 1, 0, ""), (0, 1, 1, 9, "")], [1, 0], id="then a group over a pod"),
        pytest.param([(0, 1, 9, 0, ""), (0, 2, 1, 9, "")], [1, 0], id="and a tree over a group"),
        pytest.param([(0, 1, 1, 0, ""), (0, 1, 3, 9, "")], [1, 0], id="then more pods"),
        pytest.param([(0, 1, 2, 9, ""), (0, 1, 2, 0, "")], [1, 0], id="then the earlier start"),
        pytest.param([(0, 1, 2, 0, "b"), (0, 1, 2, 0, "a")], [1, 0], id="then the lower uid"),
    ],
)
def test_more_important_first(units: list[tuple[int, int, int, int, str]], expected: list[int]) -> None:
    pods = [make_pod(str(number), status={}) for number in range(len(units))]
    pods = [replace(pod, metadata=replace(pod.metadata, uid=unit[-1])) for pod, unit in zip(pods, units, strict=True)]
    records = make_cluster([], pods).pods.records
    priority, rank, n_pods, start = (np.array(column) for column in zip(*(unit[:-1] for unit in units), strict=True))
    # The first pod of a unit is that of its number.
    pods_of = [np.full(n, number) for number, n in enumerate(n_pods.tolist())]
    numbers = np.repeat(np.arange(len(units)), n_pods)
    found = VictimUnits(np.concatenate(pods_of), numbers, priority, rank, start, {}, records).by_importance()
    assert found.tolist() == expected


def reprieved(cluster: Cluster) -> tuple[str, list[int]]:
    """Return all units in the order of reprieve, and the pods that break a budget."""
    units = units_of(cluster)
    violating = violating_pods(cluster, units, get_pod_disruption_budgets(cluster))
    return shown(cluster, units.take(in_order_of_reprieve(units, violating))), np.flatnonzero(violating).tolist()


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
    assert reprieved(cluster) == ("p+q:7 important:9", [2])


def test_a_budget_protects_the_less_important_ones() -> None:
    """A budget that allows one eviction is used up by the more important pod, so that the other one breaks it."""
    web: dict[str, Any] = {"labels": {"app": "web"}}
    pods = [running("low", "a", "1", 1, **web), running("high", "a", "1", 2, **web)]
    cluster = make_cluster([make_node("a")], pods, budget("one", "web", 1))
    assert reprieved(cluster) == ("low:1 high:2", [0])
