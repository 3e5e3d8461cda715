"""Cases that are handed in: the difference shows in them, what does not bear on it is gone, and no name is left."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.batch.cases import Case, decide
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.verify.analysis import verify
from kschedctl.questions.verify.pending_pods import Theirs, disagreement
from kschedctl.questions.verify.recording import differing_pod, fewest, recorded_case, smallest_case
from kschedctl.questions.verify.request import VerifyRequest
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.sources.snapshot.load import Snapshot
from tests.builders import make_cluster, make_node, make_pod

PORT = [{"name": "secretname", "ports": [{"containerPort": 80, "hostPort": 80}]}]
NO_PORTS = "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 2 Insufficient cpu."


def pending(message: str, name: str = "acme-waits", **more: Any) -> Pod:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return make_pod(name, namespace="acme-shop", status={"conditions": [condition]}, **more)


def recorded(*nodes: Any, pods: list[Pod], config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    data = {"apiVersion": API_VERSION, "kind": KIND, **config} if config is not None else None
    snapshot = Snapshot(cluster=make_cluster(nodes, pods), paths=(), scheduler_config=data, left_out={})
    cluster = loaded_cluster(snapshot)
    found = verify(cluster, VerifyRequest(), AnalysisHandle())
    return recorded_case(cluster.scheduler, differing_pod(cluster.cluster, found), {})


def decided(case: dict[str, Any]) -> tuple[Decision, Theirs]:
    decision = decide(msgspec.convert(case, Case), LATEST, in_tree_registry())
    return decision, msgspec.convert(case["theirs"], Theirs)


def shape(case: dict[str, Any]) -> list[tuple[str, str]]:
    return [(obj["kind"], obj["metadata"]["name"]) for obj in case["objects"]]


def test_what_only_we_say_is_cut_down_to_what_leads_to_it() -> None:
    """We say that a node has a taint, kube-scheduler does not: every reason keeps a node, with its numbers."""
    stored = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector."
    case = recorded(
        make_node("acme-a", labels={"acme.com/disk": "ssd"}, cpu="1"),
        make_node("acme-b", taints=["acme.com/gpu=yes:NoSchedule"]),
        make_node("acme-c"),
        pods=[
            make_pod("acme-uses", node="acme-b", containers=PORT, labels={"app": "acme"}),
            make_pod("acme-other", node="acme-a", requests={"cpu": "600m"}),
            make_pod("acme-small", node="acme-a", labels={"app": "acme"}, requests={"cpu": "0"}),
            pending(stored, nodeSelector={"acme.com/disk": "ssd"}, requests={"cpu": "500m"}, priorityClassName="acme"),
        ],
    )
    assert shape(case) == [("Node", "node-1"), ("Node", "node-2"), ("Node", "node-3"), ("Pod", "pod-1")]
    assert "config" not in case
    # What the verdict on a node goes by stays with its numbers.
    assert case["objects"][0]["status"]["allocatable"]["cpu"] == "1"
    decision, theirs = decided(case)
    found = disagreement(theirs, decision)
    assert found is not None
    assert found.only_ours == {"node(s) had untolerated taint(s)"}
    assert found.only_theirs == frozenset()
    assert theirs.release == LATEST.version
    assert "acme" not in json.dumps(case)
    assert "secretname" not in json.dumps(case)


def test_what_we_pass_over_stays_within_the_reach_of_their_reason() -> None:
    """kube-scheduler sees a port in use where we see none: the pods of the node that we call feasible stay whole."""
    case = recorded(
        make_node("acme-full", cpu="1"),
        make_node("acme-full-too", cpu="1"),
        make_node("acme-free"),
        pods=[
            make_pod("acme-x", node="acme-free", labels={"app": "x"}),
            make_pod("acme-y", node="acme-full", labels={"app": "y"}),
            pending(NO_PORTS, requests={"cpu": "2"}),
        ],
    )
    assert shape(case) == [("Node", "node-1"), ("Pod", "pod-2")]
    assert case["objects"][1]["metadata"]["labels"]
    decision, theirs = decided(case)
    assert decision.schedulable
    assert disagreement(theirs, decision) is not None
    assert "ports" in theirs.message


def test_a_running_pod_that_no_later_change_explains() -> None:
    case = recorded(
        make_node("acme-a"),
        make_node("acme-b"),
        pods=[
            make_pod("acme-one", node="acme-a", containers=PORT, labels={"app": "one"}, requests=None),
            make_pod("acme-two", node="acme-a", containers=PORT),
            make_pod("acme-three", node="acme-b"),
        ],
    )
    decision, theirs = decided(case)
    assert shape(case) == [("Node", "node-1"), ("Pod", "pod-2")]
    assert theirs.node == "node-1"
    assert not decision.node("node-1").feasible
    assert [port["hostPort"] for port in case["pod"]["spec"]["containers"][0]["ports"]] == [80]
    assert "labels" not in json.dumps(case["pod"])


def test_a_configuration_stays_where_it_makes_the_difference_and_names_nothing() -> None:
    args = {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "acme.com/pool", "operator": "Exists"}]}]
            }
        }
    }
    profile = {"schedulerName": "acme-scheduler", "pluginConfig": [{"name": "NodeAffinity", "args": args}]}
    case = recorded(
        make_node("acme-a"),
        pods=[pending("0/1 nodes are available: 1 Too many pods.", schedulerName="acme-scheduler")],
        config={
            "profiles": [profile],
            "extenders": [{"urlPrefix": "https://acme", "filterVerb": "f"}],
            "clientConnection": {"kubeconfig": "/etc/acme"},
        },
    )
    decision, theirs = decided(case)
    assert disagreement(theirs, decision) is not None
    assert "acme" not in json.dumps(case)
    assert case["config"]["profiles"][0]["pluginConfig"][0]["name"] == "NodeAffinity"


def test_equal_answers_are_no_case() -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
    message += "available: 1 Preemption is not helpful for scheduling."
    scheduler = Scheduler(make_cluster([make_node("a")], [pending(message, requests={"cpu": "64"})]))
    with pytest.raises(InputError, match="our answer equals kube-scheduler's"):
        recorded_case(scheduler, 0, {})


@pytest.mark.parametrize(
    ("items", "needed"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([1], [], id="one that is not needed"),
        pytest.param([1], [1], id="one that is"),
        pytest.param([1, 2, 3, 4, 5], [1, 5], id="the ends"),
        pytest.param(list(range(50)), [7, 8, 9, 40], id="a run and a single one"),
        pytest.param([1, 2, 3], [1, 2, 3], id="all"),
    ],
)
def test_the_items_that_are_needed_stay_in_their_order(items: list[int], needed: list[int]) -> None:
    assert fewest(items, lambda chosen: set(needed) <= set(chosen)) == needed


def test_few_questions_find_one_among_many() -> None:
    asked = []

    def keeps(chosen: list[int]) -> bool:
        asked.append(chosen)
        return 700 in chosen

    assert fewest(list(range(1000)), keeps) == [700]
    assert len(asked) < 60


def test_a_case_keeps_what_is_needed_and_who_its_objects_are() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"priority": 7, "hostNetwork": True}}
    case = {"id": "x", "objects": [{"kind": "Node"}, {"kind": "Pod"}], "pod": pod, "config": {"profiles": []}}
    assert smallest_case(case, lambda one: "priority" in one["pod"].get("spec", ())) == {
        "id": "x",
        "objects": [],
        "pod": {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"priority": 7}},
    }
