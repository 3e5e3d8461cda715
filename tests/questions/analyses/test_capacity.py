"""The number of copies of a pod that fit, as data."""

from __future__ import annotations

import json

import pytest

from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.volume import CSINode
from kschedctl.objects.workload import StatefulSet
from kschedctl.output.json import as_json
from kschedctl.questions.analyses.capacity import CapacityRequest, capacity_answer
from kschedctl.questions.analyses.capacity import capacity as count
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.provenance import Provenance
from kschedctl.questions.analyses.subjects import PodSubject, pods_asked_about
from kschedctl.questions.answers.capacity import CapacityList, PodCapacity
from kschedctl.questions.answers.explain import WorkloadData
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.capacity import capacity
from tests.answer_schema import validate
from tests.builders import (
    make_cluster,
    make_container,
    make_loaded,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
)
from tests.trials.simulate.test_capacity import copies_of


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


def test_the_copies_of_a_stateful_set_have_claims_of_their_own() -> None:
    """A node attaches three volumes of the driver; all pods together would need one if they shared it."""
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    spec = {
        "selector": {"matchLabels": {"app": "db"}},
        "replicas": 1,
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [make_container()]}},
        "volumeClaimTemplates": [claim],
    }
    own = make_object(StatefulSet, "db", namespace="default", spec=spec)
    driver = {"name": "csi.example.com", "nodeID": "a", "allocatable": {"count": 3}}
    csi_node = make_object(CSINode, "a", spec={"drivers": [driver]})
    cluster = make_loaded(
        make_cluster([make_node("a")], [], own, csi_node, make_storage_class("standard", default=True))
    )
    found = pods_asked_about(cluster, own)
    asked = PodSubject(found.missing[0].pod, workload=WorkloadData("StatefulSet", "default", "db", 1))
    (answer,) = count(cluster.with_made(found.missing), CapacityRequest(pods=(asked,)), AnalysisHandle())
    assert answer.summary == "StatefulSet default/db: 3 more pods fit, on 1 node, the first for 1 pod that it lacks"
