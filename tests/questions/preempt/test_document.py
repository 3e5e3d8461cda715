"""The charts of preemption: the part of each node, and what decided between candidates."""

import pytest

from kschedctl.questions.preempt.document import candidates_bars, criteria_table, document, preemption_map
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import make_cluster, make_loaded, make_node, make_pod, overview_of
from tests.questions.drawn import about, cells, coloured, parts, view_of

STATUS = {"startTime": "2026-05-04T08:48:00Z"}
CLUSTER = make_loaded(
    make_cluster(
        [*(make_node(name, cpu="4") for name in "abcd"), make_node("e", cpu="4", taints=["x=y:NoSchedule"])],
        [
            make_pod("low", requests={"cpu": "4"}, node="a", status=STATUS),
            make_pod("mid", requests={"cpu": "4"}, node="b", priority=5, status=STATUS),
            make_pod("top", requests={"cpu": "4"}, node="c", priority=900, status=STATUS),
            make_pod("top-2", requests={"cpu": "1"}, node="d", priority=900, status=STATUS),
            make_pod("low-2", requests={"cpu": "1"}, node="d", status=STATUS),
            make_pod("big", requests={"cpu": "4"}, priority=100),
        ],
    )
)
ANSWER = SchedulingCluster(CLUSTER).preempt("default/big")
LOST = "2. lower highest priority of a victim"


def test_nodes_are_coloured_by_their_part() -> None:
    chart = preemption_map(ANSWER, overview_of(CLUSTER))
    assert coloured(chart) == {
        "a": "best candidate",
        "b": f"lost at {LOST}",
        "c": "has no pods of lower priority",
        "d": "does not fit even without its pods of lower priority",
        "e": "removing pods does not help",
    }
    assert coloured(chart, 1)["e"] == "TaintToleration"
    assert about(chart)["b"][:2] == (f"lost at {LOST} (5 against 0)", "evicts 1 pod")
    assert about(chart)["e"][0] == "taint x=y:NoSchedule is not tolerated"


def test_candidates_have_their_victims_and_what_decided() -> None:
    chart = candidates_bars(ANSWER)
    assert cells(chart) == [("a", "1 pod", "best"), ("b", "1 pod", f"{LOST} (5 against 0)")]
    assert parts(chart) == {"a": ["other victims: 1 pod"], "b": ["other victims: 1 pod"]}


def test_the_table_has_the_numbers_that_are_compared() -> None:
    assert criteria_table(ANSWER).rows == (
        (("a",), ("0",), ("0",), ("0",), ("1",), ("2026-05-04 08:48:00 UTC",), ("-",)),
        (("b",), ("0",), ("5",), ("5",), ("1",), ("2026-05-04 08:48:00 UTC",), ("-",)),
    )


@pytest.mark.parametrize("n_nodes", [20, 25])
def test_bars_are_limited_and_say_so(n_nodes: int) -> None:
    nodes = [make_node(f"n{i}", cpu="4") for i in range(n_nodes)]
    pods = [make_pod(f"p{i}", requests={"cpu": "4"}, node=f"n{i}", status=STATUS) for i in range(n_nodes)]
    cluster = make_loaded(make_cluster(nodes, [*pods, make_pod("big", requests={"cpu": "4"}, priority=100)]))
    chart = candidates_bars(SchedulingCluster(cluster).preempt("default/big"))
    assert len(chart.rows) == 20
    assert chart.note == ("" if n_nodes == 20 else "the best 20 of 25 candidates")


def test_charts_replace_the_table_of_the_other_candidates() -> None:
    headings = [getattr(block, "headings", ()) for block in document(ANSWER, view_of(CLUSTER))]
    assert not any("other candidates" in each for each in headings)
    assert ("nodes", "plugin", "why preemption does not help") in headings
