"""The charts of capacity: copies by node, and what rejects the next copy."""

from kschedctl.questions.capacity.answer import CapacityList
from kschedctl.questions.capacity.document import capacity_map, copies_bars, workloads_bars
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import make_cluster, make_loaded, make_node, make_pod, overview_of
from tests.questions.drawn import about, cells, coloured, parts

NODES = [
    make_node("a", cpu="4", zone="z1"),
    make_node("b", cpu="2", zone="z2"),
    make_node("c", cpu="8", zone="z2", unschedulable=True),
]
CLUSTER = make_loaded(make_cluster(NODES, [make_pod("p", requests={"cpu": "1"})]))
ANSWER = SchedulingCluster(CLUSTER).capacity("default/p")
LIMITED = SchedulingCluster(CLUSTER).capacity("default/p", most=3)


def test_nodes_are_coloured_by_copies_and_by_what_rejects_the_next() -> None:
    chart = capacity_map(ANSWER, overview_of(CLUSTER))
    assert coloured(chart) == {"a": "4", "b": "2", "c": "none"}
    assert [kind.name for kind in chart.colourings[0].kinds] == ["none", "1", "2", "3", "4"]
    assert coloured(chart, 1) == {"a": "NodeResourcesFit", "b": "NodeResourcesFit", "c": "NodeUnschedulable"}
    assert about(chart)["a"][:2] == ("4 copies", "Insufficient cpu: wants 1 cpu, free 0 of 4")


def test_a_count_that_stops_at_its_limit_leaves_nodes_that_accept_more() -> None:
    chart = capacity_map(LIMITED, overview_of(CLUSTER))
    accepting = {name for name, kind in coloured(chart, 1).items() if kind == "accepts the next copy"}
    assert accepting == {"a", "b"}


def test_copies_by_node() -> None:
    chart = copies_bars(ANSWER)
    assert cells(chart) == [("a", "4 copies"), ("b", "2 copies")]
    assert parts(chart) == {"a": ["zone z1: 4 copies"], "b": ["zone z2: 2 copies"]}


def test_copies_by_workload() -> None:
    chart = workloads_bars(CapacityList(items=(ANSWER, LIMITED)))
    assert [row.cells[1] for row in chart.rows] == ["6 copies", "at least 3 copies"]
