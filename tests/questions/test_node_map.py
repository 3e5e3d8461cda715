"""Maps of nodes: results, groupings and lines about each node."""

import pytest

from kschedctl.objects.releases.choice import ChosenBy
from kschedctl.questions.answer import RulesData, SnapshotData
from kschedctl.questions.charts import Bars, Colouring, Kind, utilisation_bars, zone_bars
from kschedctl.questions.node_map import NodeChange, NodeResult, explained_map, nodes_map, pods_map, results_map
from kschedctl.questions.nodes.answer import NodeEntryData, NodesOverview
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.simulate.answer import UtilisationData
from tests.builders import GPU, make_cluster, make_loaded, make_node, make_pod, overview_of
from tests.questions.drawn import about, coloured

NODES = [
    make_node("a", cpu="4", zone="z1"),
    make_node("b", cpu="1", zone="z1", taints=["x=y:NoSchedule"]),
    make_node("c", cpu="8", zone="z2", unschedulable=True, offers={GPU: 2}),
]
CLUSTER = make_loaded(make_cluster(NODES, [make_pod("old", requests={"cpu": "3"}, node="a"), make_pod("new")]))
OVERVIEW = overview_of(CLUSTER)


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
    chart = explained_map(SchedulingCluster(CLUSTER).explain("default/new"), OVERVIEW)
    assert coloured(chart) == {"a": "best node", "b": "TaintToleration", "c": "NodeUnschedulable"}
    assert about(chart)["b"][0] == "taint x=y:NoSchedule is not tolerated"


@pytest.mark.parametrize(("scale", "kinds"), [(False, ["yes"]), (True, ["no", "yes"])])
def test_only_scales_have_kinds_that_no_node_has(scale: bool, kinds: list[str]) -> None:
    colouring = Colouring("result", (Kind("no"), Kind("yes")), scale=scale)
    chart = results_map(OVERVIEW.nodes, {"a": NodeResult(("yes",), ("why",))}, (colouring,))
    assert [kind.name for kind in chart.colourings[0].kinds] == kinds
    assert (coloured(chart), about(chart)["a"][0]) == ({"a": "yes"}, "why")


def overview(*names: str) -> NodesOverview:
    """Return nodes; the zone of ``b@z`` is z."""
    nodes = (name.partition("@") for name in names)
    return NodesOverview(
        rules=RulesData("1.36", ChosenBy.DEFAULT, "", "", {}),
        snapshot=SnapshotData((), 1, 1, None),
        warnings=(),
        missing=(),
        not_modelled=(),
        summary="",
        by="zone",
        groups=(),
        nodes=tuple(NodeEntryData(n, True, False, True, "", zone, "", "", "", (), {}) for n, _, zone in nodes),
        namespaces=(),
    )


@pytest.mark.parametrize(
    ("arrive", "leave", "drained", "expected"),
    [
        pytest.param([], [], [], ["a no change", "b no change"], id="nothing changes"),
        pytest.param(
            [("a", "x"), ("a", "y"), ("", "pending")],
            [("b", "z")],
            [],
            ["a pods arrive, 2 pods arrive: x and y", "b pods leave, 1 pod leaves: z"],
            id="pods arrive and leave",
        ),
        pytest.param(
            [("a", "x")],
            [("a", "z")],
            ["b"],
            ["a pods arrive and leave, 1 pod arrives: x, 1 pod leaves: z", "b drained, in 30 s"],
            id="a node of which the state counts",
        ),
        pytest.param(
            [("new", "x")],
            [],
            [],
            ["a no change", "b no change", "new pods arrive, 1 pod arrives: x, not in the snapshot: added"],
            id="an added node",
        ),
    ],
)
def test_changes_of_nodes(
    arrive: list[tuple[str, str]], leave: list[tuple[str, str]], drained: list[str], expected: list[str]
) -> None:
    states = {name: NodeChange(Kind("drained"), ("in 30 s",)) for name in drained}
    chart = pods_map(overview("a", "b"), arrive, leave, states)
    kinds = chart.colourings[0].kinds
    assert [", ".join((f"{cell.name} {kinds[cell.kinds[0]].name}", *cell.about)) for cell in chart.cells] == expected
    assert {kinds[cell.kinds[0]] for cell in chart.cells} == set(kinds)


def rows(chart: Bars) -> list[tuple[str, ...]]:
    return [
        (*bar.cells, *(f"{chart.kinds[each.kind].name} {each.size:g}" for each in bar.segments)) for bar in chart.rows
    ]


def test_requested_shares_before_and_after() -> None:
    entries = [
        UtilisationData("", "cpu", "8", "2", "4"),
        UtilisationData("", "memory", "4Gi", "3Gi", "1Gi"),
        UtilisationData("z", "cpu", "4", "6", "6"),
    ]
    chart = utilisation_bars(entries, "")
    assert rows(chart) == [
        ("cpu, all nodes", "25.0 %", "50.0 %", "8 cpu", "requested before and after 2000", "added 2000"),
        ("cpu, z", "150.0 %", "150.0 %", "4 cpu", "requested before and after 6000"),
        (
            "memory, all nodes", "75.0 %", "25.0 %", "4Gi memory",
            f"requested before and after {2**30:g}", f"removed {2**31:g}",
        ),
    ]  # fmt: skip
    assert [bar.mark for bar in chart.rows] == [None, 4000, None]


def test_pods_by_zone() -> None:
    chart = zone_bars("", ("before", "after"), ["a", "a", "c", ""], ["b", "a", "", ""], overview("a@x", "b@y", "c"))
    assert rows(chart) == [
        ("x", "2 pods", "1 pod", "in both 1", "more before 1"),
        ("y", "0 pods", "1 pod", "more after 1"),
        ("no zone", "1 pod", "0 pods", "more before 1"),
    ]
