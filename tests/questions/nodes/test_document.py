"""The document of nodes."""

import pytest

from kschedctl.questions.charts import Bars
from kschedctl.questions.frame import View
from kschedctl.questions.nodes.analysis import describe_node
from kschedctl.questions.nodes.document import node_bars, overview_document
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import GPU, make_cluster, make_loaded, make_node, make_pod, overview_of
from tests.questions.drawn import cells, parts
from tests.questions.printing import lines


def test_a_soft_taint_keeps_no_pod_away() -> None:
    nodes = [make_node("soft", taints=["a:PreferNoSchedule"]), make_node("hard", taints=["b:NoExecute"])]
    printed = lines(overview_document(overview_of(make_loaded(make_cluster(nodes))), View()))
    assert printed[0].startswith("2 nodes; free on the 1 node that needs no toleration")
    rows = [line.split()[:3] for line in printed if line.startswith(("  soft", "  hard"))]
    assert rows == [["hard", "unknown,", "tainted"], ["soft", "unknown", "4/4"]]


JOB = ("batch/v1", "Job", "work")
PODS = [
    make_pod("web", requests={"cpu": "1"}, node="a"),
    make_pod("work-1", requests={"cpu": "500m", "memory": "1Gi"}, node="a", owner=JOB),
    make_pod("work-2", requests={"cpu": "500m", "memory": "1Gi"}, node="a", owner=JOB),
    make_pod("soon", requests={"cpu": "250m"}, nominated="a"),
    make_pod("big", requests={"cpu": "3"}),
    make_pod("small", requests={"cpu": "100m"}),
    make_pod("train", requests={GPU: 1}),
]
CLUSTER = make_loaded(make_cluster([make_node("a", cpu="4", memory="8Gi")], PODS))
MANY = make_loaded(
    make_cluster(
        [make_node("a", cpu="40")], [make_pod(f"p{i}", requests={"cpu": f"{i + 1}"}, node="a") for i in range(8)]
    )
)
TEN = make_loaded(
    make_cluster(
        [make_node("a", cpu="9")], [make_pod(f"p{i}", requests={"cpu": f"{i + 1}00m"}, node="a") for i in range(10)]
    )
)


def bars(asked: str = "") -> Bars:
    return node_bars(describe_node(CLUSTER, "a"), SchedulingCluster(CLUSTER).explain(asked).pod if asked else None)


USERS = ["Pod default/web: 1 cpu (1 pod)", "Job default/work: 1 cpu (2 pods)", "nominated pods: 0.25 cpu"]


@pytest.mark.parametrize(
    ("asked", "resource", "expected"),
    [
        pytest.param("", "cpu", [*USERS, "free: 1.75 cpu"], id="by-workload"),
        pytest.param("", "memory", ["Job default/work: 2Gi memory (2 pods)", "free: 6Gi memory"], id="only-requests"),
        pytest.param(
            "default/small", "cpu", [*USERS, "this pod: 0.1 cpu", "free: 1.65 cpu"], id="the-pod-takes-of-what-is-free"
        ),
        pytest.param("default/big", "cpu", [*USERS, "this pod: 3 cpu, 1.25 cpu too much"], id="more-than-is-free"),
        pytest.param("default/train", GPU, None, id="a-resource-that-the-node-does-not-have"),
        pytest.param(
            "default/web",
            "cpu",
            ["Job default/work: 1 cpu (2 pods)", "nominated pods: 0.25 cpu", "this pod: 1 cpu", "free: 1.75 cpu"],
            id="a-pod-on-the-node-counts-once",
        ),
    ],
)
def test_parts_of_a_bar(asked: str, resource: str, expected: list[str] | None) -> None:
    assert sorted(parts(bars(asked)).get(resource, ())) == sorted(expected or ())


@pytest.mark.parametrize(
    ("asked", "headings", "row"),
    [
        ("", ("resource", "allocatable", "requested", "free"), ("cpu", "4 cpu", "2 cpu", "2 cpu")),
        (
            "default/big",
            ("resource", "allocatable", "requested", "this pod", "free"),
            ("cpu", "4 cpu", "2 cpu", "3 cpu", "2 cpu"),
        ),
        (
            "default/web",
            ("resource", "allocatable", "requested", "this pod", "free"),
            ("cpu", "4 cpu", "1 cpu", "1 cpu", "3 cpu"),
        ),
    ],
)
def test_numbers_beside_a_bar_have_units(asked: str, headings: tuple[str, ...], row: tuple[str, ...]) -> None:
    assert bars(asked).headings == headings
    assert cells(bars(asked))[0] == row


@pytest.mark.parametrize(("asked", "mark"), [("", None), ("default/small", None), ("default/big", 4000)])
def test_the_limit_is_marked_where_it_is_exceeded(asked: str, mark: int | None) -> None:
    assert bars(asked).rows[0].mark == mark
    assert ("line marks" in bars(asked).note) == (mark is not None)


@pytest.mark.parametrize(("asked", "told"), [("", False), ("default/big", True)])
def test_the_effect_of_nominated_pods_is_told_to_who_asks(asked: str, told: bool) -> None:
    assert ("kept from pods of lower priority" in bars(asked).note) == told


def test_workloads_beyond_eight_share_a_colour() -> None:
    assert [kind.name for kind in node_bars(describe_node(MANY, "a")).kinds][-1] == "free"
    chart = node_bars(describe_node(TEN, "a"))
    assert [kind.name for kind in chart.kinds] == [*(f"Pod default/p{i}" for i in range(9, 1, -1)), "others", "free"]
    assert "others: 0.3 cpu" in parts(chart)["cpu"]
