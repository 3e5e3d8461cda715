"""What comes of many pods, as data."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import jsonschema
import pytest

import kschedctl.report
from kschedctl.api.pod import Pod
from kschedctl.releases.choice import choose_release
from kschedctl.report.envelope import Provenance
from kschedctl.report.render.json import as_json
from kschedctl.report.simulate.answer import simulation_answer
from kschedctl.report.simulate.data import Simulated, schema
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.simulation import Simulation
from tests.builders import make_cluster, make_node, make_pod

SCHEMA = Path(kschedctl.report.__file__).parent / "schema" / "simulate.json"
RS = ("apps/v1", "ReplicaSet", "web-5d9c")
HASH = {"pod-template-hash": "5d9c"}


def ask(*pods: Pod, running: tuple[Pod, ...] = (), most: int | None = None) -> Simulated:
    cluster = make_cluster([make_node("a", cpu="2", zone="z1"), make_node("b", cpu="2", zone="z2")], running)
    choice = choose_release("1.36", "", ())
    simulation = Simulation(Scheduler(cluster, choice.release))
    simulation.create(pods)
    before = simulation.cluster
    attempts = list(islice(simulation, most))
    rests_on = Provenance(release_choice=choice, paths=("here",), n_pods=len(before.pods))
    return simulation_answer(before, simulation, attempts, rests_on, chance="any", finished=most is None)


def web(number: int, cpu: str = "1", node: str = "", priority: int = 0) -> Pod:
    return make_pod(f"web-{number}", labels=HASH, owner=RS, requests={"cpu": cpu}, node=node, priority=priority)


ANSWERS = {
    "nothing to place": ask(),
    "all placed": ask(web(1), web(2)),
    "some wait": ask(*(web(i) for i in range(5))),
    "gated": ask(make_pod("p", schedulingGates=[{"name": "wait"}])),
    "evicted": ask(make_pod("high", requests={"cpu": "2"}, priority=9), running=(web(1, "2", "a"), web(2, "2", "b"))),
    "interrupted": ask(web(1), web(2), most=1),
}


def test_schema_file_is_made_from_the_types(request: pytest.FixtureRequest) -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    if request.config.getoption("--rewrite-golden"):
        SCHEMA.write_text(text)
    assert SCHEMA.read_text() == text


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    value = json.loads(as_json(ANSWERS[case]))
    jsonschema.validate(value, schema(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("case", "summary"),
    [
        ("nothing to place", "no pod waits for a node"),
        ("all placed", "2 of 2 pods placed"),
        ("some wait", "4 of 5 pods placed; 1 waits"),
        ("gated", "0 of 1 pod placed; 1 waits"),
        ("evicted", "1 of 2 pods placed; 1 waits, 1 evicted"),
        ("interrupted", "interrupted: 1 of 2 pods placed; 1 waits so far"),
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
    assert told["", "cpu"] == (0, 2000)
    assert told["z1", "cpu"] == (0, 1000)
