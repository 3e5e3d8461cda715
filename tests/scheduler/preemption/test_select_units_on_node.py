"""Single pods that preempt members of groups: in 1.37 a group that is disrupted as a whole goes as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES, Release
from tests.builders import decide, make_cluster, make_node, make_pod, make_pod_group, with_groups
from tests.scheduler.preemption.small_clusters import budget, running

V36, V37 = with_groups("1.36"), with_groups("1.37")
WHOLE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "whole"}}
SINGLE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "single"}}
GANG = [running("m0", "a", "3", **WHOLE), running("m1", "b", "3", **WHOLE)]


def candidates(release: Release, pods: list[Pod], priority: int = 0, *objects: Any, cpu: str = "3") -> dict[str, str]:
    """Return the victims by candidate node for a pod of priority 100, the groups having a priority."""
    groups = (
        make_pod_group("whole", disrupts_all=True, priority=priority),
        make_pod_group("single", priority=priority),
    )
    if release.version == "1.36":
        groups = (make_pod_group("whole", disruptionMode="PodGroup", priority=priority), groups[1])
    cluster = make_cluster([make_node(name, cpu="4") for name in "ab"], pods, *groups, *objects)
    decision = decide(make_pod("preemptor", requests={"cpu": cpu}, priority=100), cluster, release=release)
    found = decision.preemption
    assert found is not None
    return {each.node: " ".join(pods[victim.pod].name for victim in each.victims) for each in found.candidates}


@pytest.mark.parametrize(
    ("release", "pods", "priority", "expected"),
    [
        pytest.param(V37, GANG, 0, {"a": "m0 m1", "b": "m0 m1"}, id="1.37: all members, wherever they are"),
        pytest.param(V36, GANG, 0, {"a": "m0", "b": "m1"}, id="1.36: one by one, whatever the mode"),
        pytest.param(RELEASES["1.37"], GANG, 0, {"a": "m0", "b": "m1"}, id="1.37 without gates: one by one"),
        pytest.param(V37, GANG, 100, {}, id="1.37: the priority of the group counts, 100 is not lower"),
        pytest.param(V36, GANG, 100, {"a": "m0", "b": "m1"}, id="1.36: the members' own priority counts"),
        pytest.param(
            V37,
            [running("s0", "a", "3", 200, **SINGLE), running("s1", "b", "3", 200, **SINGLE)],
            0,
            {"a": "s0", "b": "s1"},
            id="1.37: members go one by one in mode single, by the group's priority",
        ),
        pytest.param(
            V37,
            [*GANG, running("p", "a", "1", 1)],
            0,
            {"a": "m0 m1", "b": "m0 m1"},
            id="1.37: a pod that needs not go is put back",
        ),
        pytest.param(
            V37,
            [running("p", "a", "3", 1), running("m0", "b", "3", **WHOLE)],
            0,
            {"a": "p", "b": "m0"},
            id="1.37: nodes without groups beside those with",
        ),
    ],
)
def test_victims(release: Release, pods: list[Pod], priority: int, expected: dict[str, str]) -> None:
    assert candidates(release, pods, priority) == expected


def test_a_member_on_another_node_that_a_budget_protects_counts_as_a_violation() -> None:
    pods = [
        running("m0", "a", "3", **WHOLE),
        running("m1", "b", "1", labels={"app": "web"}, **WHOLE),
        running("p", "b", "3", 1),
    ]
    groups = make_pod_group("whole", disrupts_all=True)
    cluster = make_cluster([make_node(n, cpu="4") for n in "ab"], pods, groups, budget("none", "web", 0))
    decision = decide(make_pod("preemptor", requests={"cpu": "3"}, priority=100), cluster, release=V37)
    found = decision.preemption
    assert found is not None
    # On b the pod p is enough: the whole group is put back first, because the budget protects it.
    by_node = {each.node: [(pods[v.pod].name, v.violates) for v in each.victims] for each in found.candidates}
    assert by_node == {"a": [("m0", False), ("m1", True)], "b": [("p", False)]}
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("b",)
