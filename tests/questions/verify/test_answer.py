"""The comparison with kube-scheduler as data and as text."""

import json
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.output.data_forms import as_json
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.verify.analysis import verify
from kschedctl.questions.verify.answer import Match, PendingGroupData, Standing, Verification
from kschedctl.questions.verify.document import document
from kschedctl.questions.verify.request import VerifyRequest
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.answer_schema import validate
from tests.builders import GPU, make_cluster, make_node, make_pod
from tests.questions.printing import lines
from tests.scheduler.devices.builders import make_claim as make_device_claim
from tests.scheduler.devices.builders import make_class, make_device, make_slice

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


T = TypeVar("T")
SINCE = "2026-03-01T12:00:00Z"
LATER = "2026-03-01T12:30:00Z"
TOO_LARGE = (
    "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling."
)


def pending(message: str, *, reason: str = "Unschedulable", cpu: str = "64", **spec: Any) -> Pod:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": SINCE,
    }
    return make_pod("new", requests={"cpu": cpu}, status={"conditions": [condition]}, **spec)


def loaded(cluster: Cluster) -> LoadedCluster:
    return loaded_cluster(Snapshot(cluster=cluster, paths=(), scheduler_config=None, left_out={}))


def verified(cluster: Cluster, before: Cluster | None = None, namespace: str = "") -> Verification:
    request = VerifyRequest(before=loaded(before) if before is not None else None, namespace=namespace)
    return verify(loaded(cluster), request, AnalysisHandle())


def check(pod: Pod, *others: Pod, nodes: tuple[Node, ...] = (make_node("a"),)) -> PendingGroupData:
    return only(make_cluster(nodes, [pod, *others]))


def only(cluster: Cluster) -> PendingGroupData:
    (found,) = (group for group in verified(cluster).pending_groups if "default/new" in [pod.key for pod in group.pods])
    return found


def test_same_message() -> None:
    found = check(pending(TOO_LARGE))
    assert (found.outcome, found.theirs, found.causes) == (Match.EQUAL, TOO_LARGE, ())


@pytest.mark.parametrize("length", [40, len(TOO_LARGE) - 1])
def test_message_that_was_cut_off(length: int) -> None:
    assert check(pending(TOO_LARGE[:length] + " ...")).outcome is Match.EQUAL


PLACED = "preemption: found a potential placement for pod on node {}, preempting 1 victims"


@pytest.mark.parametrize(
    ("stored", "nominated", "outcome"),
    [
        pytest.param("", "a", Match.NOMINATED, id="up to 1.36 nothing is said of preemption"),
        pytest.param("", "", Match.DIFFERENT, id="but the pod is nominated"),
        pytest.param(" " + PLACED.format("a"), "a", Match.EQUAL, id="from 1.37 on its node is named"),
        pytest.param(" " + PLACED.format("b"), "a", Match.DIFFERENT, id="not another"),
    ],
)
def test_pod_that_waits_for_its_victims(stored: str, nominated: str, outcome: Match) -> None:
    victim = make_pod("victim", node="a", requests={"cpu": "4"}, terminating=True)
    message = f"0/1 nodes are available: 1 Insufficient cpu.{stored}"
    assert check(pending(message, cpu="1", priority=9, nominated=nominated), victim).outcome is outcome


@pytest.mark.parametrize(
    ("node", "outcome"),
    [
        pytest.param("a", Match.EQUAL, id="the first of those that chance decides among"),
        pytest.param("b", Match.EQUAL, id="another of them"),
        pytest.param("c", Match.DIFFERENT, id="one that was not to be taken"),
    ],
)
def test_pod_that_room_is_made_for(node: str, outcome: Match) -> None:
    full = [make_pod(f"on-{name}", node=name, requests={"cpu": "4"}) for name in ("a", "b")]
    nodes = (make_node("a", cpu="4"), make_node("b", cpu="4"), make_node("c", cpu="1"))
    stored = f"0/3 nodes are available: 3 Insufficient cpu. {PLACED.format(node)}"
    assert check(pending(stored, cpu="2", priority=9), *full, nodes=nodes).outcome is outcome


def test_gated_pod() -> None:
    text = "Scheduling is blocked due to non-empty scheduling gates"
    gated = pending(text, reason="SchedulingGated", schedulingGates=[{"name": "example.com/wait"}])
    assert check(gated).outcome is Match.EQUAL
    assert check(pending(text, reason="SchedulingGated")).outcome is Match.DIFFERENT


def test_pod_that_was_not_tried_yet() -> None:
    found = check(make_pod("new"))
    assert (found.outcome, found.ours) == (Match.NOT_TRIED, "would be scheduled to a")


def test_pod_of_another_scheduler() -> None:
    assert check(pending("no", schedulerName="mine")).outcome is Match.OTHER_SCHEDULER


@pytest.mark.parametrize(
    ("pod", "others", "cause"),
    [
        (pending(TOO_LARGE, cpu="1"), (), "it fits now"),
        (pending(TOO_LARGE.replace("0/1", "0/2")), (), "the scheduler looked at 2 nodes, the snapshot has 1"),
        (pending(TOO_LARGE.replace("is not helpful", "helps")), (), "only the part about preemption"),
        (pending("0/1 nodes are available: 1 Too many pods."), (), "another configuration"),
        (
            pending("0/1 nodes are available: 1 Too many pods."),
            (make_pod("first", nominated="a", priority=9),),
            "default/first is nominated",
        ),
        (
            pending("0/1 nodes are available: 1 Too many pods."),
            (make_pod("going", node="a", terminating=True),),
            "default/going is being deleted",
        ),
        (pending("other ..."), (), "the stored message is truncated"),
        (pending("no", runtimeClassName="gvisor"), (), "not in the snapshot: the pod names RuntimeClass gvisor"),
    ],
    ids=["room", "nodes", "preemption", "configuration", "nominated", "terminating", "cut off", "missing"],
)
def test_likely_causes(pod: Pod, others: tuple[Pod, ...], cause: str) -> None:
    found = check(pod, *others)
    assert found.outcome is Match.DIFFERENT
    assert any(cause in each for each in found.causes), found.causes


def test_what_is_younger_than_the_condition() -> None:
    builder = ClusterBuilder()
    node = make_node("a")
    builder.add(replace(node, metadata=replace(node.metadata, creation_timestamp=datetime.fromisoformat(LATER))))
    builder.add(pending("0/1 nodes are available: 1 Too many pods."))
    causes = only(builder.build(taken_at=datetime(2026, 3, 1, 11, 59, tzinfo=UTC))).causes
    assert "1 node was created after the pod became pending" in causes
    assert "the snapshot is 61 seconds older than the condition" in causes


@pytest.mark.parametrize(
    ("created", "cpu", "stored", "outcome"),
    [
        pytest.param(LATER, "64", "1 Too many pods.", Match.AGED, id="a pod that now runs is younger"),
        pytest.param(SINCE, "64", "1 Too many pods.", Match.DIFFERENT, id="no pod is younger"),
        pytest.param(LATER, "1", "1 Too many pods.", Match.DIFFERENT, id="it fits now, which no younger pod explains"),
        pytest.param(LATER, "64", TOO_LARGE.removeprefix("0/1 nodes are available: "), Match.EQUAL, id="no difference"),
    ],
)
def test_a_message_that_is_older_than_pods_that_run_is_aged(
    created: str, cpu: str, stored: str, outcome: Match
) -> None:
    young = make_pod("young", node="a")
    young = replace(young, metadata=replace(young.metadata, creation_timestamp=datetime.fromisoformat(created)))
    cluster = make_cluster([make_node("a")], [pending(f"0/1 nodes are available: {stored}", cpu=cpu), young])
    found, group = verified(cluster), only(cluster)
    assert (group.outcome, found.equal) == (outcome, outcome is not Match.DIFFERENT)
    if outcome is Match.AGED:
        assert group.causes[0].startswith("the message is older than 1 running pod")
        assert "1 pending pod has an aged message" in found.summary


def test_only_stored_messages_are_printed_as_those_of_kube_scheduler() -> None:
    victim = make_pod("victim", node="a", requests={"cpu": "4"}, terminating=True)
    stored = "0/1 nodes are available: 1 Insufficient cpu."
    found = verified(make_cluster([make_node("a")], [pending(stored, cpu="1", priority=9, nominated="a"), victim]))
    printed = "\n".join(lines(document(found, View()), 160))
    assert "1 nominated pod waits for victims to end" in found.summary
    assert f"    {stored}\n" in printed + "\n"
    assert "preemption" not in printed


def misplaced(cluster: Cluster, before: Cluster | None = None) -> dict[str, tuple[Standing, str]]:
    """Return the standing of each running pod that would not fit any more, and the plugin that rejects it."""
    found = verified(cluster, before)
    assert found.equal is all(each.standing is not Standing.DIFFERENT for each in found.infeasible_groups)
    return {pod.key: (each.standing, each.status.plugin) for each in found.infeasible_groups for pod in each.pods}


def test_pods_with_claims_made_for_them_fit_where_they_are() -> None:
    """A pod's status names the claims from templates; claims for extended resources count as the pod's own."""
    entry = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]}
    pods = [
        make_pod("template", node="a", resourceClaims=[entry], status=status),
        make_pod("extended", node="a", requests={GPU: "1"}),
        make_pod("another", node="a", requests={GPU: "1"}),
    ]
    extended = make_device_claim("e", holds=["a/y"], node="a", reserved=["extended"], owner="extended")
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    objects = [
        make_slice("s", make_device("x"), make_device("y"), node="a"),
        make_class("gpu", resource=GPU),
        make_device_claim("made", holds=["a/x"], node="a", reserved=["template"], owner="template"),
        replace(extended, metadata=replace(extended.metadata, annotations=annotations)),
    ]
    # The third has no claim, and there is no device for it.
    assert misplaced(make_cluster([make_node("a")], pods, *objects)) == {
        "default/another": (Standing.CHANGED, "DynamicResources")
    }


def test_what_only_the_what_ifs_do_is_no_difference() -> None:
    pods = [
        make_pod("fine", node="a"),
        make_pod("first", node="b", containers=PORT),
        make_pod("second", node="b", containers=PORT),
    ]
    before = make_cluster([make_node("a"), make_node("b")], pods)
    after = make_cluster([make_node("a", taints=["x:NoSchedule"]), make_node("b", unschedulable=True)], pods)
    assert misplaced(after, before) == {
        "default/fine": (Standing.WHAT_IF, "TaintToleration"),
        "default/first": (Standing.DIFFERENT, "NodePorts"),
        "default/second": (Standing.DIFFERENT, "NodePorts"),
    }


def test_a_message_that_differs_by_the_what_ifs_alone_says_so() -> None:
    pod = pending(TOO_LARGE)
    before, after = make_cluster([make_node("a")], [pod]), make_cluster([make_node("a", unschedulable=True)], [pod])
    (found,) = verified(after, before).pending_groups
    assert found.outcome is Match.DIFFERENT
    assert found.causes[0] == "the what-ifs cause it: without them there is no difference"
    (found,) = verified(after, after).pending_groups
    assert "what-ifs" not in "".join(found.causes)


def test_whoever_asks_is_told_how_far_it_is() -> None:
    told: list[tuple[str, int]] = []

    class Told(AnalysisHandle):
        def track(self, items: Collection[T], task: str) -> Iterator[T]:
            told.append((task, len(items)))
            yield from items

    pods = [make_pod("a", node="a"), make_pod("b", node="a"), make_pod("c", node="a", labels={"app": "web"})]
    verify(loaded(make_cluster([make_node("a")], [*pods, make_pod("new")])), VerifyRequest(), Told())
    assert told == [("comparing pending pods", 1), ("comparing running pods", 2)]


def test_the_pods_of_one_namespace() -> None:
    pods = [
        make_pod("new"),
        make_pod("new", namespace="shop"),
        make_pod("runs", node="a", nodeSelector={"disk": "ssd"}),
        make_pod("runs", node="a", namespace="shop"),
    ]
    found = verified(make_cluster([make_node("a")], pods), namespace="shop")
    assert [pod.key for group in found.pending_groups for pod in group.pods] == ["shop/new"]
    assert (found.pending.not_tried, found.bound.feasible, found.bound.infeasible) == (1, 1, 0)
