"""Nodes with one reason share a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.core import Taint
from kschedctl.questions.answer import OperandsData
from kschedctl.questions.explain.answer import NodeData, ReasonData
from kschedctl.questions.node_groups import group_nodes, nearest_node, together
from kschedctl.scheduler.framework.status import Reason
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import OwnAntiAffinity
from kschedctl.scheduler.plugins.node_resources.fit import InsufficientResource
from kschedctl.scheduler.plugins.taint_toleration import UntoleratedTaint


def node(name: str, *reasons: ReasonData) -> NodeData:
    return NodeData(name, "", not reasons, "Unschedulable", reasons[0].plugin if reasons else "", reasons)


def cpu(free: int, wanted: int = 2000) -> ReasonData:
    operands = InsufficientResource("cpu", wanted, 4000 - free, 4000)
    return ReasonData.of("NodeResourcesFit", Reason("Insufficient cpu", operands))


def taint(text: str) -> ReasonData:
    key, _, effect = text.partition(":")
    operands = UntoleratedTaint(Taint(key=key, effect=effect))
    return ReasonData.of("TaintToleration", Reason("node(s) had untolerated taint(s)", operands))


def test_numbers_become_ranges_and_the_closest_node_is_named() -> None:
    (group,) = group_nodes([node("a", cpu(100)), node("b", cpu(1600)), node("c", cpu(700)), node("fits")])
    assert group.why == "Insufficient cpu: wants 2 cpu, free 0.1 to 1.6 of 4"
    assert [n.name for n in group.nodes] == ["a", "b", "c"]
    assert group.closest == "closest: b lacks 0.4 cpu"


HUGE = cpu(4000, wanted=5000)


@pytest.mark.parametrize(
    ("nodes", "nearest"),
    [
        pytest.param([node("a", cpu(100)), node("b", cpu(1600))], "b", id="it lacks less"),
        pytest.param([node("a", cpu(1600), taint("x:NoSchedule")), node("b", cpu(100))], "b", id="one plugin"),
        pytest.param([node("a", taint("x:NoSchedule")), node("b", cpu(100))], "b", id="resources before other reasons"),
        pytest.param([node("a", HUGE), node("b", taint("x:NoSchedule"))], "b", id="it could hold the pod if empty"),
        pytest.param([node("b", cpu(100)), node("a", cpu(100))], "a", id="equal nodes: the first by name"),
    ],
)
def test_nearest_node(nodes: list[NodeData], nearest: str) -> None:
    assert nearest_node(nodes) == nearest


def test_what_could_never_hold_the_pod_is_not_close() -> None:
    small = Reason("Insufficient cpu", InsufficientResource("cpu", 2000, used=900, allocatable=1000))
    nodes = [node(name, ReasonData.of("NodeResourcesFit", small)) for name in "ab"]
    (group,) = group_nodes(nodes)
    assert group.closest == "no node could hold the pod even if empty: the largest has 1 cpu"
    (mixed,) = group_nodes([*nodes, node("c", cpu(100))])
    assert mixed.closest == "closest: c lacks 1.9 cpu"


def test_different_taints_are_different_rows_the_largest_first() -> None:
    groups = group_nodes(
        [node("a", taint("x:NoSchedule")), node("b", taint("y:NoSchedule")), node("c", taint("y:NoSchedule"))]
    )
    assert [(group.why, len(group.nodes)) for group in groups] == [
        ("taint y:NoSchedule is not tolerated", 2),
        ("taint x:NoSchedule is not tolerated", 1),
    ]


def test_many_wordings_share_a_row() -> None:
    (group,) = group_nodes([node(f"n{i}", taint(f"key-{i}:NoSchedule")) for i in range(9)])
    assert group.why == (
        "taint key-0:NoSchedule (1), key-1:NoSchedule (1), key-2:NoSchedule (1) or 6 others (6) is not tolerated"
    )
    assert len(group.nodes) == 9


def test_what_else_is_wrong_is_counted() -> None:
    (group,) = group_nodes(
        [
            node("a", taint("x:NoSchedule"), cpu(100)),
            node("b", taint("x:NoSchedule"), cpu(300)),
            node("c", taint("x:NoSchedule")),
        ]
    )
    assert group.also == (("Insufficient cpu: wants 2 cpu, free 0.1 to 0.3 of 4", 2),)


WORDS = st.sampled_from(["wants 2 cpu", "free 1.5Gi of 4Gi", "taint a=1:NoSchedule", "node-7", "0", "x"])


@given(st.lists(st.tuples(st.sampled_from(["A", "B"]), st.lists(WORDS, max_size=3)), max_size=30))
def test_every_node_that_does_not_fit_is_in_one_group(given_nodes: list[tuple[str, list[str]]]) -> None:
    nodes = [
        node(f"n{i}", *(ReasonData(plugin, "reason", word, OperandsData(None)) for word in words))
        for i, (plugin, words) in enumerate(given_nodes)
    ]
    grouped = [member.name for group in group_nodes(nodes) for member in group.nodes]
    assert sorted(grouped) == sorted(member.name for member in nodes if not member.fits)


def test_numbers_inside_names_stay() -> None:
    (group,) = group_nodes([node("a", taint("pool-7=1.5:NoSchedule")), node("b", taint("pool-7=1.5:NoSchedule"))])
    assert "pool-7=1.5" in group.why


def test_replicas_of_one_workload_are_one_row() -> None:
    nodes = [
        node(
            f"n{i}",
            ReasonData.of(
                "InterPodAffinity",
                Reason("", OwnAntiAffinity("kubernetes.io/hostname", f"n{i}", f"shop/web-7c9d8f6b54-4qzx{end}", 1)),
            ),
        )
        for i, end in enumerate("bcd")
    ]
    (group,) = group_nodes(nodes)
    assert len(group.nodes) == 3


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        pytest.param(["free 0.1 of 4", "free 1.6 of 4"], "free 0.1 to 1.6 of 4", id="numbers become a range"),
        pytest.param(["free 900Mi", "free 2Gi"], "free 900Mi to 2Gi", id="numbers with units"),
        pytest.param(
            ["has model=P100, free 1", "has model=T4, free 3", "has model=T4, free 2"],
            "has model=T4 (2) or P100 (1), free 1 to 3",
            id="values are named with how many nodes have each",
        ),
        pytest.param(
            [f"has model=M{n}" for n in (1, 1, 1, 2, 2, 3, 4, 5)],
            "has model=M1 (3), M2 (2), M3 (1) or 2 others (2)",
            id="only the commonest values are named",
        ),
        pytest.param(
            ["wants a=x, node has a=y", "wants a=x, node has no a", "wants a=x, node has no a"],
            "wants a=x, node has no a (2) or a=y (1)",
            id="phrases of different length",
        ),
        pytest.param(
            ["claim data is on pv-1 in zone a", "claim data is on pv-1 in zone b"],
            "claim data is on pv-1 in zone a (1) or b (1)",
            id="claim and zone are kept",
        ),
        pytest.param(
            ["one thing", "another matter altogether", "one thing"],
            "one thing (2 nodes; 1 with another reason)",
            id="what has nothing in common is not said of all",
        ),
        pytest.param(
            [
                "wants 1 gpu (2 here, 1 free)",
                "wants 1 gpu (2 here); 1 by claim a (x, 1 free)",
                "wants 1 gpu (2 here, 1 free)",
            ],
            "wants 1 gpu (2 here, 1 free) (2 nodes; 1 with another reason)",
            id="a part of another clause is no value",
        ),
        pytest.param(["the same", "the same"], "the same", id="nothing differs"),
    ],
)
def test_only_what_holds_for_all_is_said(texts: list[str], told: str) -> None:
    assert together(texts) == told
