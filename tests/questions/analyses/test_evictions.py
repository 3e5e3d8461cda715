"""Evictions of a simulation: the pods that are lost, and the pod that makes it long."""

from __future__ import annotations

from kschedctl.questions.analyses.drain.analysis import drain
from kschedctl.questions.analyses.drain.run import DrainRequest
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.simulate import SimulateRequest, simulate
from kschedctl.questions.answers.simulate import SlowestPodData
from kschedctl.trials.simulate.drain import DrainOptions
from tests.builders import make_cluster, make_loaded, make_node, make_pod

JOB = ("batch/v1", "Job", "report")
STATEFUL = ("apps/v1", "StatefulSet", "db")


def test_pods_without_a_controller_are_lost_and_the_longest_grace_period_is_named() -> None:
    running = (
        make_pod("report-1", node="a", owner=JOB, requests={"cpu": "1"}, terminationGracePeriodSeconds=1800),
        make_pod("bare", node="a", requests={"cpu": "1"}),
        make_pod("db-0", node="b", owner=STATEFUL, requests={"cpu": "2"}, terminationGracePeriodSeconds=60),
    )
    waiting = [make_pod(name, requests={"cpu": "2"}, priority=9) for name in ("high-1", "high-2")]
    cluster = make_cluster([make_node("a", cpu="2"), make_node("b", cpu="2")], (*running, *waiting))
    answer = simulate(make_loaded(cluster), SimulateRequest(), AnalysisHandle())
    fates = {each.pod: (each.made_again, each.lost) for each in answer.evicted}
    assert fates == {
        "default/report-1": ("default/report-xxxxx", False),
        "default/bare": ("", True),
        "default/db-0": ("default/db-0", False),
    }
    assert answer.summary == "2 of 4 pods placed; 2 pending, 3 evicted (1 lost for good)"
    assert answer.slowest == SlowestPodData("default/report-1", "a", 1800)


def test_a_drain_names_the_longest_grace_period_and_the_pods_that_its_pods_preempt_for_good() -> None:
    moving = make_pod(
        "db-0", node="a", owner=STATEFUL, requests={"cpu": "2"}, priority=9, terminationGracePeriodSeconds=1800
    )
    bare = make_pod("bare", node="b", requests={"cpu": "1"})
    cluster = make_loaded(make_cluster([make_node("a", cpu="2"), make_node("b", cpu="2")], [moving, bare]))
    answer = drain(cluster, DrainRequest(nodes=("a",), options=DrainOptions()), AnalysisHandle())
    assert answer.slowest == SlowestPodData("default/db-0", "a", 1800)
    lost = "default/bare is preempted on other nodes and lost for good"
    assert answer.summary == f"a can be drained: 1 pod moves; {lost}"
    assert (answer.lost, answer.yes) == (("default/bare",), False)
