"""The scenarios of ``fixtures/optimum``: the scheduler's placement pod after pod, and the best placement."""

import pytest

import kschedctl
from kschedctl.trials.optimum.comparison import Comparison, compare, find_adjustments, stranded
from kschedctl.trials.optimum.levers import Lever
from tests.builders import load_engine
from tests.paths import ROOT

FIXTURES = ROOT / "fixtures" / "optimum"


def ask(name: str) -> Comparison:
    folder = FIXTURES / name
    cluster = load_engine(str(folder / "cluster.yaml"), edits=[kschedctl.Apply.parse(str(folder / "waiting.yaml"))])
    return compare(cluster.simulation().scheduler, seconds=600)


def placed(comparison: Comparison) -> tuple[int, int]:
    """Return the number of pods that the scheduler places in the end, and that of the best placement."""
    return sum(comparison.multi_step.placed.values()), sum(comparison.best.placement.placed.values())


def test_greed_strands_every_gpu_pod() -> None:
    comparison = ask("greed")
    assert placed(comparison) == (9, 15)
    assert {key.partition("-")[0] for key in stranded(comparison)} == {"ml/train"}
    assert comparison.best.proven
    proof = comparison.best.proof
    assert proof is not None
    assert {step.node.partition("-")[0] for step in proof.steps if step.pod.namespace == "shop"} == {"plain"}


def test_what_would_have_saved_the_gpu_pods() -> None:
    found = {way.lever: way for way in find_adjustments(ask("greed"))}
    assert found[Lever.ORDER].what == "one after another, the largest first"
    assert found[Lever.PRIORITY].what == "priority 1 without preemption (preemptionPolicy: Never)"
    assert found[Lever.REQUESTS].what == "requests of 11.2 cpu instead of 14"


def test_a_pod_that_is_viable_only_after_preemption_costs_as_much_at_best() -> None:
    comparison = ask("viable-by-preemption")
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
    comparison = ask("one-eviction-too-many")
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
