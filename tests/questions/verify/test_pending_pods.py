"""In which way messages differ."""

import pytest

from kschedctl.questions.verify.pending_pods import Disagreement, Theirs, disagreement, overcounted
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_node, make_pod

CPU, FULL = "Insufficient cpu", "Too many pods"
HELPLESS = (
    "no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)
UNSCHEDULABLE = Outcome.UNSCHEDULABLE


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(f"0/2 nodes are available: 2 {CPU}. {HELPLESS}", None, id="the same"),
        pytest.param(
            f"0/2 nodes are available: 1 {FULL}, 1 {CPU}. {HELPLESS}",
            Disagreement(UNSCHEDULABLE, frozenset(), frozenset({FULL})),
            id="a reason more",
        ),
        pytest.param(
            f"0/2 nodes are available: 2 {FULL}. {HELPLESS}",
            Disagreement(UNSCHEDULABLE, frozenset({CPU}), frozenset({FULL})),
            id="another reason",
        ),
        pytest.param(
            f"0/3 nodes are available: 3 {CPU}. {HELPLESS}",
            Disagreement(UNSCHEDULABLE, ours=frozenset({(CPU, 2)}), theirs=frozenset({(CPU, 3)})),
            id="other numbers",
        ),
        pytest.param(
            f"0/2 nodes are available: 2 {CPU}. preemption: 0/2 nodes are available: 2 No preemption victims found.",
            Disagreement(
                UNSCHEDULABLE,
                frozenset({"Preemption is not helpful for scheduling"}),
                frozenset({"No preemption victims found"}),
            ),
            id="what is said of preemption",
        ),
    ],
)
def test_reasons_of_one_side_alone(message: str, expected: Disagreement | None) -> None:
    cluster = make_cluster([make_node("a", cpu="1"), make_node("b", cpu="1")])
    decision = Scheduler(cluster).decide(make_pod("p", requests={"cpu": "2"}))
    assert disagreement(Theirs(reason="Unschedulable", message=message), decision) == expected


def test_other_outcomes() -> None:
    decision = Scheduler(make_cluster([make_node("a")])).decide(make_pod("p"))
    theirs = Theirs(reason="Unschedulable", message=f"0/1 nodes are available: 1 {CPU}.")
    assert disagreement(theirs, decision) == Disagreement(Outcome.SCHEDULED, frozenset(), frozenset({CPU}))
    assert disagreement(Theirs(reason="SchedulingGated"), decision) == Disagreement(Outcome.SCHEDULED)
    assert disagreement(Theirs(node="a"), decision) is None


def test_reasons_that_we_give_more_often() -> None:
    cluster = make_cluster([make_node("a", cpu="1"), make_node("b", cpu="1")])
    decision = Scheduler(cluster).decide(make_pod("p", requests={"cpu": "2"}))
    assert overcounted(Theirs(message=f"0/2 nodes are available: 1 {CPU}, 1 {FULL}."), decision) == {CPU}
