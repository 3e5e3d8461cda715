"""The number of copies of a pod that fit, as data."""

from __future__ import annotations

import json

import pytest

from kschedctl.analyses.capacity import capacity_answer
from kschedctl.analyses.provenance import Provenance
from kschedctl.answers.capacity import CapacityList, PodCapacity
from kschedctl.releases.choice import choose_release
from kschedctl.render.json import as_json
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.capacity import capacity
from tests.answer_schema import validate
from tests.builders import make_cluster, make_node, make_pod
from tests.simulate.test_capacity import copies_of


def ask(cpu: str, most: int | None = None) -> PodCapacity:
    cluster = make_cluster([make_node("a", cpu="4", zone="z1"), make_node("b", cpu="2", zone="z2")], [])
    choice = choose_release("1.36", "", ())
    found = capacity(Scheduler(cluster, choice.release), copies_of(make_pod(requests={"cpu": cpu})), most)
    return capacity_answer("pod p", found, Provenance(release_choice=choice, paths=("here",), n_pods=0))


ANSWERS = {"some": ask("1"), "none": ask("9"), "bounded": ask("1", 3)}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    for answer in (ANSWERS[case], CapacityList(items=(ANSWERS[case],))):
        value = json.loads(as_json(answer))
        validate(value)


@pytest.mark.parametrize(
    ("case", "summary", "names"),
    [
        ("some", "pod p: 6 more pods fit, on 2 nodes", ("node/a 4", "node/b 2")),
        ("none", "pod p: no more pods fit", ()),
        ("bounded", "pod p: at least 3 more pods fit, on 2 nodes", ("node/a 2", "node/b 1")),
    ],
)
def test_what_is_said(case: str, summary: str, names: tuple[str, ...]) -> None:
    assert (ANSWERS[case].summary, ANSWERS[case].names()) == (summary, names)


def test_rooms_of_zones_and_what_stops_the_next() -> None:
    answer = ANSWERS["some"]
    assert [(room.zone, room.nodes, room.copies) for room in answer.zones] == [("z1", 1, 4), ("z2", 1, 2)]
    assert {node.name for node in answer.refusals} == {"a", "b"}
    assert answer.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
