"""The shortage of the members without a node, beside those that have one."""

from collections.abc import Sequence

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_members, make_node, make_pod_group, with_groups
from tests.diagnosis.rules.cures import cures


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


GATED = make_members("gated", schedulingGates=[{"name": "example.com/wait"}])


@pytest.mark.parametrize(
    ("pods", "groups", "cause", "first"),
    [
        pytest.param(
            make_members("p"),
            [],
            "PodGroup default/gang does not exist",
            "create PodGroup gang in namespace default, or correct schedulingGroup in the pods (untried)",
            id="no PodGroup",
        ),
        pytest.param(
            make_members("p"),
            [make_pod_group("gangs"), make_pod_group("gang", namespace="other")],
            "PodGroup default/gang does not exist; gangs may be meant",
            "create PodGroup gang in namespace default, or correct schedulingGroup in the pods (untried)",
            id="a similar name",
        ),
        pytest.param(
            make_members("p q"),
            [make_pod_group(min_count=3)],
            "2 of the 3 pods that gang default/gang needs exist",
            "let the workload make 1 more pod: minCount is 3 (untried)",
            id="2 of 3 exist",
        ),
        pytest.param(
            make_members("p") + make_members("q", node="n1"),
            [make_pod_group(min_count=4)],
            "2 of the 4 pods that gang default/gang needs exist, 1 of them on nodes",
            "let the workload make 2 more pods: minCount is 4 (untried)",
            id="one is on a node",
        ),
        pytest.param(
            [*make_members("p"), *GATED],
            [make_pod_group(min_count=2)],
            "its group default/gang waits for default/gated to lose its scheduling gate",
            "",
            id="a gated member",
        ),
    ],
)
def test_cause_and_first_cure(pods: Sequence[Pod], groups: Sequence[PodGroup], cause: str, first: str) -> None:
    cluster = make_cluster([make_node("n1")], pods, *groups)
    decision = Scheduler(cluster, with_groups("1.37")).decide_as_scheduled(pods[0])
    assert [(one.rule, one.cause) for one in diagnose(decision)] == [("waiting-gang", cause)]
    assert cures(decision)[:1] == ([first] if first else [])


def test_minCount_is_lowered_where_it_can_change() -> None:
    pods, group = make_members("p q"), make_pod_group(min_count=3)
    cluster = make_cluster([make_node("n1")], pods, group)
    by_release = {
        version: cures(Scheduler(cluster, with_groups(version)).decide_as_scheduled(pods[0]))
        for version in ("1.36", "1.37")
    }
    lowered = "minCount 2 instead of 3 in PodGroup gang"
    assert [lowered in every for every in by_release.values()] == [False, True]
