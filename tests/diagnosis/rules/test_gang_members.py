"""The shortage of the members without a node, beside those that have one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_members, make_node, make_pod_group, with_groups


def with_cpu(names: str, cpu: str) -> list[Pod]:
    return make_members(names, requests={"cpu": cpu})


@pytest.mark.parametrize(
    ("nodes", "pods", "min_count", "cause"),
    [
        pytest.param([make_node("n1")], with_cpu("a b c", "2"), 3, "the other one lacks 2 cpu", id="one"),
        pytest.param([make_node("n1")], with_cpu("a b c d", "2"), 4, "the other 2 lack 2 cpu each", id="two alike"),
        pytest.param(
            [make_node("n1")],
            [*with_cpu("a b", "2"), *with_cpu("c", "1"), *with_cpu("d", "3")],
            4,
            "c lacks 1 cpu",
            id="others that differ",
        ),
        pytest.param(
            [make_node("n1"), make_node("n2", cpu="3")],
            with_cpu("a b c d", "2"),
            4,
            "the other one lacks 1 cpu on n2, where least is missing",
            id="the node that lacks least",
        ),
        pytest.param(
            [make_node("n1", pods=2)], with_cpu("a b c", "1"), 3, "the other one lacks 1 pod", id="no pod slot"
        ),
        pytest.param(
            [make_node("n1"), make_node("n2", unschedulable=True)],
            with_cpu("a b c", "2"),
            3,
            "the other one lacks 2 cpu",
            id="a cordoned node beside",
        ),
    ],
)
def test_cause(nodes: Sequence[Node], pods: Sequence[Pod], min_count: int, cause: str) -> None:
    cluster = make_cluster(nodes, pods, make_pod_group(min_count=min_count))
    decision = Scheduler(cluster, with_groups("1.37")).decide_as_scheduled(pods[0])
    assert cause in [one.cause for one in diagnose(decision) if one.rule == "gang-members"]


def test_no_node_has_the_label_of_the_constraint() -> None:
    pods = with_cpu("a b", "1")
    group = make_pod_group(min_count=2, topology_key="example.com/rak")
    cluster = make_cluster([make_node("n1", labels={"example.com/rack": "r1"})], pods, group)
    decision = Scheduler(cluster, with_groups("1.37", topology=True)).decide_as_scheduled(pods[0])
    assert [one.cause for one in diagnose(decision)] == [
        "no node has the label example.com/rak, which the topology constraint of its group names; "
        "example.com/rack may be meant"
    ]


def test_without_any_member_on_a_node_the_usual_cause_is_told() -> None:
    pods = with_cpu("a b", "9")
    cluster = make_cluster([make_node("n1")], pods, make_pod_group(min_count=2))
    decision = Scheduler(cluster, with_groups("1.37")).decide_as_scheduled(pods[0])
    assert "gang-members" not in [one.rule for one in diagnose(decision)]
