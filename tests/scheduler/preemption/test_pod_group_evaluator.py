"""Preemption by groups: the short way over the members' own nodes finds the same victims as the long one."""

from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.pod_group_cycle import _Cycle, decide_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group, with_groups

NODES = ("n1", "n2", "n3")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[Pod]]:
    """Return nodes, pods on them (some in a group that is evicted as a whole) and pods of a gang of priority 10."""
    nodes = [make_node(name, cpu=str(draw(st.integers(2, 6))), zone=name[-1]) for name in NODES]
    running = []
    for number in range(draw(st.integers(1, 8))):
        fields: dict[str, Any] = {
            "node": draw(st.sampled_from(NODES)),
            "priority": draw(st.sampled_from([0, 5, 20])),
            "requests": {"cpu": draw(st.sampled_from(["1", "2"]))},
            "labels": {"app": draw(st.sampled_from(["web", "gang"]))},
        }
        if draw(st.booleans()):
            running += make_members(f"run-{number}", group="others", **(fields | {"priority": 0}))
        else:
            running.append(make_pod(f"run-{number}", **fields))
    if draw(st.booleans()):
        running.append(make_pod("soon", nominated="n1", priority=10, requests={"cpu": "1"}))
    anti: dict[str, Any] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "gang"}}, "topologyKey": "topology.kubernetes.io/zone"}
    ]}}  # fmt: skip
    more: dict[str, Any] = {"affinity": anti} if draw(st.integers(0, 3)) == 0 else {}
    names = " ".join(f"g-{number}" for number in range(draw(st.integers(1, 4))))
    members = make_members(names, priority=10, requests={"cpu": "2"}, labels={"app": "gang"}, **more)
    return nodes, running, members


def decided(nodes: list[Node], running: list[Pod], members: list[Pod]) -> PodGroupDecision:
    groups = (
        make_pod_group(min_count=len(members), priority=10),
        make_pod_group("others", disrupts_all=True, priority=0),
    )
    cluster = make_cluster(nodes, [*running, *members], *groups)
    return decide_group(Scheduler(cluster, with_groups("1.37")).framework("default-scheduler"), members)


@given(clusters())
def test_the_short_way_finds_the_same_victims(made: tuple[list[Node], list[Pod], list[Pod]]) -> None:
    short = decided(*made)
    with patch.object(_Cycle, "depends_on_own_node", return_value=False):
        long = decided(*made)
    assert (short.victims, short.outcome, short.status) == (long.victims, long.outcome, long.status)
    assert [member.nominated for member in short.members] == [member.nominated for member in long.members]
