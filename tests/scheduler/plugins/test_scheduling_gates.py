from __future__ import annotations

from kschedctl.scheduler.framework.status import Code, Status
from tests.builders import decide, make_cluster, make_node, make_pod


def test_a_pod_without_gates_enters_the_queue() -> None:
    assert decide(make_pod(), make_cluster([make_node()])).pre_enqueue == Status()


def test_gates_are_named_in_their_order() -> None:
    gated = make_pod(schedulingGates=[{"name": "example.com/b"}, {"name": "example.com/a"}])
    decision = decide(gated, make_cluster([make_node()]))
    text = "waiting for scheduling gates: [example.com/b example.com/a]"
    assert decision.pre_enqueue == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), "SchedulingGates")


def test_a_gated_pod_is_not_schedulable_though_it_would_fit() -> None:
    decision = decide(make_pod(schedulingGates=[{"name": "g"}]), make_cluster([make_node("a")]))
    assert decision.best == ("a",)
    assert not decision.schedulable
