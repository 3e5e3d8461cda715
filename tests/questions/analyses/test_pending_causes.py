"""Pending pods of ``simulate`` and ``preempt`` with the cause in our words."""

from __future__ import annotations

from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.simulate import SimulateRequest, simulate
from kschedctl.questions.presentation.document import Table
from kschedctl.questions.presentation.frame import View
from kschedctl.questions.presentation.simulate import document
from tests.builders import make_cluster, make_loaded, make_node, make_pod

NODES = [make_node("a"), make_node("b", unschedulable=True)]
PODS = [
    make_pod("large", requests={"cpu": "8"}),
    make_pod("busy-1", requests={"cpu": "3"}),
    make_pod("busy-2", requests={"cpu": "3"}),
]


def test_each_group_has_its_cause_before_the_message() -> None:
    answer = simulate(make_loaded(make_cluster(NODES, PODS)), SimulateRequest(), AnalysisHandle())
    causes = {group.pods: group.cause for group in answer.waiting}
    assert causes == {
        ("default/large",): "no node has 8 cpu, the largest offers 4",
        ("default/busy-2",): "b is cordoned; a has 1 of 4 cpu free, the pod wants 3 cpu",
    }
    (first,) = [block for block in document(answer, View()) if isinstance(block, Table)][:1]
    assert [row[2][0] for row in first.rows] == [group.cause for group in answer.waiting]
    assert all("nodes are available" in row[2][1] for row in first.rows)


def test_preempt_says_the_cause_first() -> None:
    answer = make_loaded(make_cluster(NODES, PODS)).preempt("default/large")
    assert answer.verdict.summary == (
        "default/large fits on none of 2 nodes: no node has 8 cpu, the largest offers 4. Evicting pods does not help."
    )
    assert [each.cause for each in answer.diagnoses] == ["no node has 8 cpu, the largest offers 4"]
