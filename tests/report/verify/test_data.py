"""The comparison with kube-scheduler as data and as text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

import kschedctl.report
from kschedctl.cluster.cluster import Cluster
from kschedctl.releases.choice import choose_release
from kschedctl.report.envelope import Provenance
from kschedctl.report.render.json import as_json
from kschedctl.report.verify.answer import verification_data
from kschedctl.report.verify.data import VerificationData, schema
from kschedctl.report.verify.text import document
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.scheduler.verify import verify
from tests.builders import make_cluster, make_node, make_pod
from tests.report.printing import lines

SCHEMA = Path(kschedctl.report.__file__).parent / "schema" / "verify.json"
STORED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]}
CLUSTERS = {
    "equal": make_cluster([make_node("a")], [make_pod("p", node="a")]),
    "nothing": make_cluster([make_node("a")]),
    "different": make_cluster(
        [make_node("a"), make_node("b", unschedulable=True)],
        [
            make_pod("waits", requests={"cpu": "64"}, status=STORED),
            make_pod("new"),
            make_pod("runs", node="b"),
            make_pod("other", node="a", schedulerName="mine"),
            make_pod("static", node="a", owner=("v1", "Node", "a")),
            make_pod("lost", node="gone"),
        ],
    ),
}


def compared(cluster: Cluster) -> VerificationData:
    provenance = Provenance(
        release_choice=choose_release("1.36", "", ()), paths=("here",), n_pods=len(cluster.pods), warnings=("careful",)
    )
    return verification_data(verify(Scheduler(cluster)), cluster, provenance)


def text(found: VerificationData, *, wide: bool = False) -> str:
    return "\n".join(lines(document(found, datetime(2026, 1, 1, tzinfo=UTC), wide=wide), 200))


def test_schema_file_is_made_from_the_types(request: pytest.FixtureRequest) -> None:
    made = json.dumps(schema(), indent=2) + "\n"
    if request.config.getoption("--rewrite-golden"):
        SCHEMA.write_text(made)
    assert SCHEMA.read_text() == made


@pytest.mark.parametrize("name", CLUSTERS)
def test_answers_are_valid_by_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    value = json.loads(as_json(compared(CLUSTERS[name])))
    jsonschema.validate(value, schema(), cls=jsonschema.Draft202012Validator)
    assert value["equal"] is (name != "different")


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        (
            "equal",
            "No difference: 0 pending pods with kube-scheduler's own message, 1 running pod that would still fit.",
        ),
        ("nothing", "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler's."),
        (
            "different",
            "2 differences to what kube-scheduler did: 1 pending pod of 1 and 1 running pod of 1.",
        ),
    ],
)
def test_summary(name: str, summary: str) -> None:
    assert compared(CLUSTERS[name]).summary == summary


def test_text_shows_both_messages_and_causes() -> None:
    shown = text(compared(CLUSTERS["different"]))
    assert (
        "default/waits: another message\n  kube-scheduler: no room\n  kschedctl:      0/2 nodes are available" in shown
    )
    assert "likely because the cluster's scheduler may have another configuration" in shown
    assert "Not tried yet by kube-scheduler; our answer\n  default/new\n    would be scheduled to a" in shown
    assert "default/runs  b     NodeUnschedulable  node(s) were unschedulable" in shown
    assert "likely because the node was cordoned since" in shown
    assert "not compared: 1 pod of other schedulers, 1 static pod of kubelets, 1 pod on nodes that" in shown
    assert "warning: careful" in shown
