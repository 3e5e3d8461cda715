"""The best placement beside the multi-step answer: never worse; also in the scenarios of ``fixtures/optimum``."""

from typing import Any

import pytest

import kschedctl
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.comparison import Comparison, compare, find_adjustments, stranded
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import Opened, goal_values
from kschedctl.trials.optimum.levers import Lever
from tests.builders import HOSTNAME, ZONE, load_engine, make_cluster, make_node, make_pod
from tests.paths import ROOT

RS = ("apps/v1", "ReplicaSet", "some")


def ask(nodes: list[Any], *pods: Any) -> Comparison:
    return compare(Scheduler(make_cluster(nodes, pods)), seconds=600)


def apart_from(app: str) -> dict[str, Any]:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(taints: str = "Ignore") -> dict[str, Any]:
    return {
        "topologyKey": ZONE,
        "maxSkew": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "nodeTaintsPolicy": taints,
    }


def test_a_scheduler_that_evicts_for_ever_is_stopped() -> None:
    # What w0 evicts comes again before w0 has its turn, and is evicted again.
    b, a = {"app": "b"}, {"app": "a"}
    comparison = ask(
        [make_node("n0", cpu="2", taints=["t:NoSchedule"]), make_node("n1", cpu="2", zone="z1")],
        make_pod(
            "p0",
            labels=b,
            requests={"cpu": "500m"},
            node="n1",
            priority=10,
            owner=RS,
            topologySpreadConstraints=[spread()],
        ),
        make_pod(
            "w0",
            labels=a,
            requests={"cpu": "500m"},
            priority=20,
            affinity=apart_from("b"),
            topologySpreadConstraints=[spread()],
        ),
        make_pod(
            "w1", labels=b, requests={"cpu": "1500m"}, priority=20, affinity=apart_from("b"), preemptionPolicy="Never"
        ),
    )
    assert not comparison.finished
    assert comparison.best.proof is not None
    assert goal_values(comparison.question, comparison.goals, comparison.best.placement) >= goal_values(
        comparison.question, comparison.goals, comparison.multi_step
    )


def test_nobody_is_evicted_where_all_find_a_place_without() -> None:
    # The scheduler puts the first where it alone fits no longer, and evicts for the second.
    comparison = ask(
        [make_node("a", cpu="4"), make_node("b", cpu="6")],
        make_pod("low", requests={"cpu": "1"}, node="b", owner=RS),
        make_pod("first", requests={"cpu": "4"}, priority=5),
        make_pod("second", requests={"cpu": "5"}, priority=5),
    )
    assert [entry.pod for entry in comparison.evicted] == []
    assert comparison.question.occupants == ()
    assert comparison.left == ()
    assert comparison.best.proven


def test_nothing_is_stranded_where_the_scheduler_does_as_well() -> None:
    comparison = ask([make_node("a")], make_pod("p", requests={"cpu": "1"}))
    assert not comparison.places_more
    assert list(stranded(comparison)) == []
    assert find_adjustments(comparison) == ()


def test_a_new_node_can_take_more_pods_of_a_kind_than_are_pending() -> None:
    small: dict[str, Any] = {"requests": {"cpu": "1"}, "owner": RS}
    nodes = [make_node("full", cpu="3", labels={"role": "a"}), *(make_node(f"n{i}", cpu=str(4 + i)) for i in range(3))]
    running = [make_pod(f"d{i}", node="full", **small) for i in range(3)]
    first = make_pod("first", requests={"cpu": "3"}, priority=100, nodeSelector={"role": "a"})
    cluster = make_cluster(nodes, [*running, make_pod("d3", **small), first])
    found = compare(Scheduler(cluster), seconds=600, final=FinalGoal.NODES).best
    # The pending one and the three evicted ones.
    assert [(each.value, each.proven) for each in found.standings if isinstance(each.goal, Opened)] == [(1, True)]


FIXTURES = ROOT / "fixtures" / "optimum"


def ask_fixture(name: str) -> Comparison:
    folder = FIXTURES / name
    cluster = load_engine(str(folder / "cluster.yaml"), edits=[kschedctl.Apply.parse(str(folder / "waiting.yaml"))])
    return compare(cluster.simulation().scheduler, seconds=600)


def placed(comparison: Comparison) -> tuple[int, int]:
    """Return the number of pods that the scheduler places in the end, and that of the best placement."""
    return sum(comparison.multi_step.placed.values()), sum(comparison.best.placement.placed.values())


def test_greed_strands_every_gpu_pod() -> None:
    comparison = ask_fixture("greed")
    assert placed(comparison) == (9, 15)
    assert {key.partition("-")[0] for key in stranded(comparison)} == {"ml/train"}
    assert comparison.best.proven
    proof = comparison.best.proof
    assert proof is not None
    assert {step.node.partition("-")[0] for step in proof.steps if step.pod.namespace == "shop"} == {"plain"}


def test_what_would_have_saved_the_gpu_pods() -> None:
    found = {way.lever: way for way in find_adjustments(ask_fixture("greed"))}
    assert found[Lever.ORDER].what == "one after another, the largest first"
    assert found[Lever.PRIORITY].what == "priority 1 without preemption (preemptionPolicy: Never)"
    assert found[Lever.REQUESTS].what == "requests of 11.2 cpu instead of 14"


def test_a_pod_that_is_viable_only_after_preemption_costs_as_much_at_best() -> None:
    comparison = ask_fixture("viable-by-preemption")
    assert {entry.pod for entry in comparison.evicted} == {"shop/cache-1", "batch/report-1"}
    proof = comparison.best.proof
    assert proof is not None
    assert {pod.key for pod in proof.left} == {"shop/cache-1", "batch/report-1"}
    assert [(step.pod.name.split("-")[0], step.node, step.again) for step in proof.steps] == [
        ("ledger", "node-1", False),
        ("cache", "node-2", True),
    ]
    assert comparison.best.proven
    assert not comparison.places_more


def test_two_evictions_where_one_makes_room_for_both() -> None:
    comparison = ask_fixture("one-eviction-too-many")
    assert [entry.pod for entry in comparison.evicted] == ["batch/small-1", "batch/large-1"]
    proof = comparison.best.proof
    assert proof is not None
    assert [pod.key for pod in proof.left] == ["batch/large-1"]
    assert {step.node for step in proof.steps} == {"node-2"}
    assert comparison.best.proven


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()))
def test_every_fixture_has_its_story(name: str) -> None:
    story = (FIXTURES / name / "README.md").read_text()
    assert f"--snapshot fixtures/optimum/{name}/cluster.yaml" in story
    assert f"[{name}]({name}/README.md)" in (FIXTURES / "README.md").read_text()
