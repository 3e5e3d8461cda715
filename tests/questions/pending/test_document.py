"""The charts of pending pods: the pods of each group by outcome, and the map of the nodes."""

from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.pending.document import document
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.questions.drawn import cells, parts, view_of

JOB = ("batch/v1", "Job", "work")
CLUSTER = make_loaded(
    make_cluster(
        [make_node("a", cpu="4")],
        [
            make_pod("low", requests={"cpu": "1"}, node="a", priority=-5),
            *(make_pod(f"work-{i}", requests={"cpu": "2"}, owner=JOB) for i in range(3)),
            make_pod("urgent", requests={"cpu": "4"}, priority=9),
            make_pod("huge", requests={"cpu": "9"}),
            make_pod("gated", schedulingGates=[{"name": "wait"}]),
        ],
    )
)
BLOCKS = list(document(SchedulingCluster(CLUSTER).pending(), view_of(CLUSTER)))


def test_pods_of_groups_by_outcome() -> None:
    (chart,) = [block for block in BLOCKS if isinstance(block, Bars)]
    assert sorted(cells(chart)) == [
        ("Job default/work", "3 pods"),
        ("default/gated", "1 pod"),
        ("default/huge", "1 pod"),
        ("default/urgent", "1 pod"),
    ]
    assert parts(chart)["default/urgent"] == ["preemption would help: 1 pod"]
    assert parts(chart)["default/huge"] == ["fits nowhere: 1 pod"]
    assert parts(chart)["default/gated"] == ["not tried: 1 pod"]
    assert parts(chart)["Job default/work"] == ["fits now: 1 pod", "fits nowhere: 2 pods"]


def test_pods_that_wait_for_victims_do_not_fit_now() -> None:
    status = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    victim = make_pod("victim", requests={"cpu": "3"}, node="a", terminating=True, status=status)
    urgent = make_pod("urgent", requests={"cpu": "3"}, priority=9, nominated="a")
    small = make_pod("small", priority=9)
    cluster = make_loaded(make_cluster([make_node("a", cpu="5")], [victim, urgent, small]))
    blocks = list(document(SchedulingCluster(cluster).pending(), view_of(cluster)))
    (chart,) = [block for block in blocks if isinstance(block, Bars)]
    assert parts(chart)["default/urgent"] == ["fits once pods have ended: 1 pod"]
    assert parts(chart)["default/small"] == ["fits now: 1 pod"]


def test_the_map_has_all_nodes() -> None:
    (chart,) = [block for block in BLOCKS if isinstance(block, NodeMap)]
    assert [cell.name for cell in chart.cells] == ["a"]
