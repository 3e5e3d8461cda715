"""The comparison with kube-scheduler as data and as text."""

import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.output.data_forms import as_json
from kschedctl.questions.frame import View
from kschedctl.questions.verify.answer import Verification
from kschedctl.questions.verify.document import document
from tests.answer_schema import validate
from tests.builders import make_cluster, make_node, make_pod
from tests.questions.printing import lines
from tests.questions.verify.test_verify import verified

STORED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]}
PORT = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
CLUSTERS = {
    "equal": make_cluster([make_node("a")], [make_pod("p", node="a")]),
    "nothing": make_cluster([make_node("a")]),
    "explained": make_cluster(
        [make_node("a", taints=["x:NoSchedule"]), make_node("b", unschedulable=True)],
        [make_pod("p", node="a"), make_pod("q", node="a", labels={"app": "web"}), make_pod("r", node="b")],
    ),
    "different": make_cluster(
        [make_node("a"), make_node("b", unschedulable=True)],
        [
            make_pod("waits", requests={"cpu": "64"}, status=STORED),
            make_pod("waits-too", requests={"cpu": "64"}, status=STORED),
            make_pod("new"),
            make_pod("runs", node="b"),
            make_pod("one", node="a", containers=PORT),
            make_pod("two", node="a", containers=PORT),
            make_pod("other", node="a", schedulerName="mine"),
            make_pod("static", node="a", owner=("v1", "Node", "a")),
            make_pod("lost", node="gone"),
        ],
    ),
}


def text(found: Verification) -> str:
    return "\n".join(lines(document(found, View(now=datetime(2026, 1, 1, tzinfo=UTC))), 200))


@pytest.mark.parametrize("name", CLUSTERS)
def test_answers_are_valid_by_the_schema(name: str) -> None:
    value = json.loads(as_json(verified(CLUSTERS[name])))
    validate(value)
    assert value["equal"] is (name != "different")


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        (
            "equal",
            "No difference: 0 pending pods with kube-scheduler's own message, 1 running pod that would still fit.",
        ),
        ("nothing", "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler."),
        (
            "different",
            "4 differences from kube-scheduler: 2 pending pods of 2 and 2 running pods of 3. 1 running pod is "
            "on cordoned nodes, where running pods stay.",
        ),
        (
            "explained",
            "No difference: 0 pending pods with kube-scheduler's own message, 0 running pods that would still fit. "
            "2 running pods would not fit any more, which a later change may explain. 1 running pod is on cordoned "
            "nodes, where running pods stay.",
        ),
    ],
)
def test_summary(name: str, summary: str) -> None:
    assert verified(CLUSTERS[name]).summary == summary


def test_text_shows_both_messages_and_causes() -> None:
    shown = text(replace(verified(CLUSTERS["different"]), warnings=("careful",)))
    assert (
        "default/waits and default/waits-too: different messages\n"
        "  kube-scheduler: no room\n  kschedctl:      0/2 nodes are available" in shown
    )
    assert "likely because the cluster's scheduler may have another configuration" in shown
    assert "Not tried yet by kube-scheduler; message of kschedctl\n  default/new\n    would be scheduled to a" in shown
    assert (
        "Pods that would not fit on their nodes, and no later change explains it\n"
        "  NodePorts: node(s) didn't have free ports for the requested pod ports\n"
        "  likely because one of the pods that exclude each other was not bound by this scheduler\n"
        "  pod          node\n"
        "  default/one  a\n"
        "  default/two  a\n" in shown
    )
    assert (
        "no difference\n  NodeUnschedulable: node(s) were unschedulable\n  pod           node\n  default/runs  b\n"
        in shown
    )
    assert "not compared: 1 pod of other schedulers, 1 static pod of kubelets, 1 pod on nodes that" in shown
    assert "warning: careful" in shown


def test_one_reason_once_with_the_pods_that_it_holds_for() -> None:
    found = verified(CLUSTERS["explained"])
    groups = [([pod.key for pod in group.pods], group.standing) for group in found.infeasible_groups]
    assert groups == [(["default/p", "default/q"], "changed"), (["default/r"], "cordoned")]
    assert found.names() == ()
    different = verified(CLUSTERS["different"])
    assert [[pod.key for pod in group.pods] for group in different.pending_groups] == [
        ["default/waits", "default/waits-too"],
        ["default/new"],
    ]
    assert different.names() == tuple(f"pod/default/{name}" for name in ("waits", "waits-too", "one", "two"))


def test_causes_that_differ_in_numbers_are_one() -> None:
    condition = {**STORED["conditions"][0], "lastTransitionTime": "2026-03-01T12:00:00Z"}
    later = {**condition, "lastTransitionTime": "2026-03-01T12:00:30Z"}
    builder = ClusterBuilder()
    builder.add(make_node("a"))
    for name, stored in (("p", condition), ("q", later)):
        builder.add(make_pod(name, requests={"cpu": "64"}, status={"conditions": [stored]}))
    (group,) = verified(builder.build(taken_at=datetime(2026, 3, 1, 11, 59, tzinfo=UTC))).pending_groups
    assert "the snapshot is 61 to 91 seconds older than the condition" in group.causes
