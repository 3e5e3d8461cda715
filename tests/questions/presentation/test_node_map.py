"""Maps of nodes: results, groupings and lines about each node."""

from __future__ import annotations

import pytest

from kschedctl.questions.presentation.charts import Colouring, Kind
from kschedctl.questions.presentation.node_map import NodeResult, explained_map, nodes_map, results_map
from tests.builders import GPU, make_cluster, make_loaded, make_node, make_pod
from tests.questions.presentation.drawn import about, coloured

NODES = [
    make_node("a", cpu="4", zone="z1"),
    make_node("b", cpu="1", zone="z1", taints=["x=y:NoSchedule"]),
    make_node("c", cpu="8", zone="z2", unschedulable=True, offers={GPU: 2}),
]
CLUSTER = make_loaded(make_cluster(NODES, [make_pod("old", requests={"cpu": "3"}, node="a"), make_pod("new")]))
OVERVIEW = CLUSTER.nodes_overview()


@pytest.mark.parametrize(
    ("colouring", "expected"),
    [
        ("free cpu", {"a": "below 40 %", "b": "80 % or more", "c": "80 % or more"}),
        (f"free {GPU}", {"a": "the node has none", "b": "the node has none", "c": "80 % or more"}),
        ("status", {"a": "unknown", "b": "unknown", "c": "unknown, cordoned"}),
    ],
)
def test_nodes_are_coloured_by_capacity_and_status(colouring: str, expected: dict[str, str]) -> None:
    chart = nodes_map(OVERVIEW)
    assert coloured(chart, [each.title for each in chart.colourings].index(colouring)) == expected


def test_taints_are_among_the_lines_about_a_node() -> None:
    assert "taint x=y:NoSchedule" in about(nodes_map(OVERVIEW))["b"]


def test_only_properties_that_nodes_have_group_them() -> None:
    assert nodes_map(OVERVIEW).groupings == ("zone",)
    assert [cell.groups for cell in nodes_map(OVERVIEW).cells] == [("z1",), ("z1",), ("z2",)]


def test_an_explanation_colours_nodes_by_plugin() -> None:
    chart = explained_map(CLUSTER.explain("default/new"), OVERVIEW)
    assert coloured(chart) == {"a": "best node", "b": "TaintToleration", "c": "NodeUnschedulable"}
    assert about(chart)["b"][0] == "taint x=y:NoSchedule is not tolerated"


@pytest.mark.parametrize(("scale", "kinds"), [(False, ["yes"]), (True, ["no", "yes"])])
def test_only_scales_have_kinds_that_no_node_has(scale: bool, kinds: list[str]) -> None:
    colouring = Colouring("result", (Kind("no"), Kind("yes")), scale=scale)
    chart = results_map(OVERVIEW.nodes, {"a": NodeResult(("yes",), ("why",))}, (colouring,))
    assert [kind.name for kind in chart.colourings[0].kinds] == kinds
    assert (coloured(chart), about(chart)["a"][0]) == ({"a": "yes"}, "why")
