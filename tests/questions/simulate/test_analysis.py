"""The answer of ``simulate``."""

from datetime import UTC, datetime

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.simulate.analysis import simulate
from kschedctl.questions.simulate.answer import Simulated
from kschedctl.questions.simulate.document import document
from kschedctl.questions.simulate.request import SimulateRequest
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.questions.printing import lines

RS = ("apps/v1", "ReplicaSet", "web-5d9c")
HASH = {"pod-template-hash": "5d9c"}


class Impatient(AnalysisHandle):
    """A handle that cancels the analysis after a number of scheduling cycles."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def check(self) -> None:
        if not self._left:
            self.cancel()
        self._left -= 1
        super().check()


def ask(*pods: Pod, running: tuple[Pod, ...] = (), handle: AnalysisHandle | None = None) -> Simulated:
    nodes = [make_node("a", cpu="2", zone="z1"), make_node("b", cpu="2", zone="z2")]
    return simulate(make_loaded(make_cluster(nodes, (*running, *pods))), SimulateRequest(), handle or AnalysisHandle())


def nominated(name: str) -> tuple[Pod, Pod]:
    """A pod nominated to node a, and its victim, whose deletion time has passed."""
    status = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    victim = make_pod(f"{name}-victim", requests={"cpu": "2"}, node="a", terminating=True, status=status)
    return make_pod(name, requests={"cpu": "2"}, nominated="a", priority=9), victim


def web(number: int, cpu: str = "1", node: str = "", priority: int = 0) -> Pod:
    return make_pod(f"web-{number}", labels=HASH, owner=RS, requests={"cpu": cpu}, node=node, priority=priority)


ANSWERS = {
    "nothing to place": ask(),
    "all placed": ask(web(1), web(2)),
    "some wait": ask(*(web(i) for i in range(5))),
    "gated": ask(make_pod("p", schedulingGates=[{"name": "wait"}])),
    "evicted": ask(make_pod("high", requests={"cpu": "2"}, priority=9), running=(web(1, "2", "a"), web(2, "2", "b"))),
    "victim gone": ask(*nominated("urgent")),
    "interrupted": ask(web(1), web(2), handle=Impatient(1)),
}


@pytest.mark.parametrize(
    ("case", "summary"),
    [
        ("nothing to place", "no pod is pending"),
        ("all placed", "2 of 2 pods placed"),
        ("some wait", "4 of 5 pods placed; 1 pending"),
        ("gated", "0 of 1 pod placed; 1 pending"),
        ("evicted", "1 of 2 pods placed; 1 pending, 1 evicted"),
        ("victim gone", "1 of 1 pod placed"),
        ("interrupted", "interrupted: 1 of 2 pods placed; 1 pending so far"),
    ],
)
def test_summary(case: str, summary: str) -> None:
    assert ANSWERS[case].summary == summary


def test_placements_by_workload_node_and_zone() -> None:
    (workload,) = ANSWERS["some wait"].workloads
    assert (workload.kind, workload.name, workload.pods, workload.placed) == ("Deployment", "web", 5, 4)
    assert (workload.nodes, workload.zones) == ({"a": 2, "b": 2}, {"z1": 2, "z2": 2})


def test_who_waits_and_why() -> None:
    (waiting,) = ANSWERS["some wait"].waiting
    assert waiting.pods == ("default/web-4",)
    assert waiting.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    (gated,) = ANSWERS["gated"].waiting
    assert (gated.gated, gated.message) == (True, "waiting for scheduling gates: [wait]")


def test_who_is_evicted_for_whom() -> None:
    answer = ANSWERS["evicted"]
    (evicted,) = answer.evicted
    assert (evicted.pod, evicted.by) in {("default/web-1", "default/high"), ("default/web-2", "default/high")}
    assert answer.names() == (f"pod/default/high node/{evicted.node}",)


def test_use_before_and_after() -> None:
    told = {(use.zone, use.resource): (use.before, use.after) for use in ANSWERS["all placed"].utilisation}
    assert told["", "cpu"] == ("0", "2")
    assert told["z1", "cpu"] == ("0", "1")


def test_a_cancelled_run_answers_with_the_part_that_was_done() -> None:
    answer = ANSWERS["interrupted"]
    assert (answer.outcome.interrupted, len(answer.attempts), answer.placed) == (True, 1, 1)
    assert not ANSWERS["all placed"].outcome.interrupted


def test_a_seed_draws_and_the_answer_names_it() -> None:
    cluster = make_loaded(make_cluster([make_node(name) for name in "abcdefgh"], [make_pod("p")]))
    drawn = [SchedulingCluster(cluster).simulate(seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0].placements == drawn[1].placements
    assert len({answer.placements for answer in drawn}) > 1
    assert [SchedulingCluster(cluster).simulate().chance, drawn[0].chance] == [
        "the first by name is chosen",
        "seed 1 chooses",
    ]
    assert SchedulingCluster(cluster).simulate().names() == ("pod/default/p node/a",)


def test_an_order_of_creation_decides_which_pods_are_placed() -> None:
    cluster = make_loaded(make_cluster([make_node("a", cpu="2")], [web(i, cpu="2") for i in range(3)]))
    assert len({next(iter(cluster.simulation(order=seed))).pod for seed in range(8)}) > 1


def test_pods_whose_deletion_ended_are_named() -> None:
    assert ANSWERS["victim gone"].ended == ("default/urgent-victim",)
    assert ANSWERS["evicted"].ended == ()


@pytest.mark.parametrize(
    ("grace", "words"),
    [
        (30, "30 s of virtual time;"),
        (1800, "30 min of virtual time (default/slow takes up to 30 min to stop, the longest grace period);"),
    ],
)
def test_the_evicted_pod_that_takes_long_is_named(grace: int, words: str) -> None:
    slow = make_pod("slow", requests={"cpu": "2"}, node="a", terminationGracePeriodSeconds=grace)
    urgent = make_pod("high", requests={"cpu": "2"}, priority=9)
    answer = ask(urgent, running=(slow, web(1, "2", "b", priority=10)))
    assert answer.slowest is not None
    assert answer.slowest.grace_seconds == grace
    assert words in " ".join(lines(document(answer, View(now=datetime(2026, 11, 2, tzinfo=UTC))), 200))


@pytest.mark.parametrize(
    ("running", "pods", "deleted"),
    [
        pytest.param((make_pod("r", requests={"cpu": "2"}, node="b"),), ("1",), ["r"], id="a pod of the snapshot"),
        pytest.param((), ("2", "1500m"), [], id="pods of equal priority that were placed in the same run"),
        pytest.param(
            tuple(make_pod(f"r{i}", requests={"cpu": "2"}, node=i, priority=5) for i in "ab"),
            (),
            [],
            id="pods of higher priority",
        ),
    ],
)
def test_no_cure_deletes_a_pod_that_was_just_placed_or_matters_more(
    running: tuple[Pod, ...], pods: tuple[str, ...], deleted: list[str]
) -> None:
    first = [make_pod(f"p{i}", requests={"cpu": cpu}) for i, cpu in enumerate(pods)]
    answer = ask(*first, make_pod("z", requests={"cpu": "2"}), running=running)
    assert [group.pods for group in answer.waiting if "default/z" in group.pods]
    found = [cure.summary for cure in answer.cures if "delete" in cure.summary]
    assert found == [f"free 2 cpu on b: delete default/{name}" for name in deleted]
