"""The answer of ``drain``."""

from typing import Any

import pytest
from msgspec.structs import replace

import kschedctl
from kschedctl.common.errors import InputError
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.drain.analysis import drain
from kschedctl.questions.drain.answer import Drained
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import load_engine, make_cluster, make_loaded, make_node, make_pod
from tests.scheduler.preemption.small_clusters import budget
from tests.trials.simulate.test_drain import web
from tests.trials.simulate.test_simulated_cluster import NOON, ending
from tests.trials.whatif.test_pods import deployment
from tests.trials.whatif.test_pods import web as running

BLOCKING = budget("pdb", "web", 0, currentHealthy=2, desiredHealthy=2)


def ask(
    pods: list[Pod], *objects: PodDisruptionBudget, names: tuple[str, ...] = ("n1",), n: int = 2, **options: Any
) -> Drained:
    cluster = make_loaded(make_cluster([make_node(f"n{i + 1}", cpu="2") for i in range(n)], pods, *objects))
    return drain(cluster, DrainRequest(nodes=names, **options), AnalysisHandle())


ANSWERS = {
    "all go": ask([web("web-1"), make_pod("bare", node="n1")], force=True),
    "nothing there": ask([]),
    "refused": ask([web("web-1"), make_pod("bare", node="n1")]),
    "blocked": ask([web("web-1"), web("web-2")], BLOCKING),
    "one of two": ask([web("web-1", node="n2"), make_pod("bare", node="n1")], names=("n1", "n2"), n=3),
    "not come to": ask([make_pod("bare", node="n1")], names=("n1", "n2"), rolling=True),
}


@pytest.mark.parametrize(
    ("case", "summary"),
    [
        ("all go", "n1 can be drained: 1 pod moves, 1 pod is lost for good: no controller recreates it"),
        ("nothing there", "n1 can be drained: no pod has to move"),
        ("refused", "n1 cannot be drained: default/bare has no controller that would recreate it on another node"),
        (
            "blocked",
            "n1 cannot be drained: budget default/pdb wants 2 healthy pods and ReplicaSet web has 2 replicas, "
            "so no eviction is ever allowed",
        ),
        (
            "one of two",
            "n2 can be drained: 1 pod moves; n1 cannot: default/bare has no controller that would recreate it "
            "on another node",
        ),
        (
            "not come to",
            "n1 cannot be drained: default/bare has no controller that would recreate it on another node; "
            "1 more node is not tried",
        ),
    ],
)
def test_what_is_said(case: str, summary: str) -> None:
    assert ANSWERS[case].summary == summary


def test_pods_without_a_controller_are_lost() -> None:
    answer = ask([make_pod(f"bare-{i}", node="n1") for i in range(8)], force=True)
    assert answer.summary == "n1 can be drained: 8 pods are lost for good: no controller recreates them"
    assert not answer.yes
    assert answer.lost == tuple(f"default/bare-{i}" for i in range(8))
    (cure,) = answer.suggestions
    assert cure.summary.startswith("put default/bare-0, default/bare-1, default/bare-2 and 5 more under a controller")


@pytest.mark.parametrize("node", ["node-2", "node-4", "node-8"])
def test_a_drain_agrees_with_the_what_if(node: str) -> None:
    """Compare the new nodes with those of ``diff --drain``, for nodes whose pods preempt no other pod."""
    before = kschedctl.load("fixtures/shop/cluster")
    after = kschedctl.load("fixtures/shop/cluster", edits=[kschedctl.Drain(node)])
    answer = before.drain(node, ignore_daemonsets=True, delete_emptydir_data=True, force=True)
    (drained,) = answer.nodes
    on_node = [pod.key for pod in before.pods if before.engine.node_name(pod) == node]
    changed = {f"{each.namespace}/{each.name}": each for each in before.diff(after, on_node).changed}
    assert {pod.pod for pod in drained.moved} == set(on_node) - set(drained.staying)
    for pod in drained.moved:
        nodes = changed[pod.pod].after.nodes
        assert pod.node in nodes if pod.node else not nodes


def test_victims_that_are_recreated_are_not_counted_as_pending() -> None:
    request = DrainRequest(nodes=("node-9",), ignore_daemonsets=True, place_pending_first=True)
    answer = drain(load_engine("fixtures/shop/cluster"), request, AnalysisHandle())
    assert answer.summary.endswith("; 3 pending pods are placed first, evicting batch/report-6")
    placed = {each.pod: each.in_place_of for each in answer.placed_first if each.in_place_of}
    assert placed == {"batch/report-6-xxxxx": "batch/report-6"}


def test_each_pod_is_told_with_what_is_made_in_its_place() -> None:
    (node,) = ANSWERS["all go"].nodes
    assert [(pod.pod, pod.made_again, pod.node) for pod in node.moved] == [
        ("default/bare", "", ""),
        ("default/web-1", "default/web-xxxxx", "n2"),
    ]
    assert ANSWERS["all go"].names() == ("pod/default/bare", "pod/default/web-1 node/n2")


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        (DrainRequest(nodes=("b*", "a-1")), ["b-1", "b-2", "a-1"]),
        (DrainRequest(nodes=("a-1",), zone="a"), ["a-1"]),
        (DrainRequest(selector="pool=old"), ["b-2"]),
        (DrainRequest(zone="b"), ["b-1", "b-2"]),
    ],
)
def test_nodes_are_named_or_selected_each_once(request_: DrainRequest, names: list[str]) -> None:
    nodes = [make_node("a-1", zone="a"), make_node("b-1", zone="b"), make_node("b-2", zone="b", labels={"pool": "old"})]
    assert request_.names(make_cluster(nodes)) == names


@pytest.mark.parametrize("request_", [DrainRequest(), DrainRequest(selector="pool=new"), DrainRequest(zone="c")])
def test_a_selection_without_a_node_is_an_error(request_: DrainRequest) -> None:
    with pytest.raises(InputError):
        request_.names(make_cluster([make_node("a-1", zone="a")]))


def test_pods_that_were_pending_before_are_not_counted() -> None:
    answer = ask([make_pod("big", requests={"cpu": "9"}), web("web-1")])
    assert (answer.waiting, answer.summary) == ((), "n1 can be drained: 1 pod moves")


@pytest.mark.parametrize(
    ("ends", "unreachable", "options", "summary", "seconds"),
    [
        pytest.param(
            600,
            False,
            {"force": True},
            "n1 can be drained: no pod has to move; waits for default/old, which is being deleted until 12:10:00 UTC",
            600,
            id="until the deletion ends",
        ),
        pytest.param(
            -60,
            False,
            {"force": True},
            "n1 can be drained: no pod has to move; waits for default/old, which is being deleted",
            0,
            id="the deletion time has passed",
        ),
        pytest.param(
            600,
            False,
            {},
            "n1 cannot be drained: default/old has no controller that would recreate it on another node",
            0,
            id="kubectl's options apply to it",
        ),
        pytest.param(
            600,
            True,
            {"force": True},
            "n1 cannot be drained: default/old is being deleted, but the kubelet of n1 is unreachable and does not "
            "confirm it, so the drain waits without end",
            0,
            id="the kubelet never confirms it",
        ),
    ],
)
def test_a_drain_waits_for_pods_that_are_being_deleted(
    ends: int, unreachable: bool, options: dict[str, Any], summary: str, seconds: int
) -> None:
    taints = ["node.kubernetes.io/unreachable:NoExecute"] if unreachable else []
    now = make_pod("now", node="n2")
    now = replace(now, metadata=replace(now.metadata, creation_timestamp=NOON))
    cluster = make_cluster([make_node("n1", taints=taints), make_node("n2")], [ending("old", ends), now])
    answer = drain(make_loaded(cluster), DrainRequest(nodes=("n1",), **options), AnalysisHandle())
    assert answer.summary == summary
    assert answer.yes is summary.startswith("n1 can be")
    assert seconds <= answer.seconds <= seconds + 5


@pytest.mark.parametrize(
    ("objects", "pending"),
    [
        pytest.param(deployment(1, cpu="1"), 0, id="its template wants less than the resized pod"),
        pytest.param([], 1, id="the snapshot has no template"),
    ],
)
def test_the_pod_in_place_of_a_resized_one_is_made_from_the_template(objects: list[ApiObject], pending: int) -> None:
    (resized,) = running("n1", requests={"cpu": "2"}, status={"phase": "Running"})
    other = make_pod("other", node="n2", requests={"cpu": "1"})
    cluster = make_cluster([make_node("n1", cpu="2"), make_node("n2", cpu="2")], [resized, other], *objects)
    answer = drain(make_loaded(cluster), DrainRequest(nodes=("n1",)), AnalysisHandle())
    assert sum(len(group.pods) for group in answer.waiting) == pending
    what_if = SchedulingCluster(make_loaded(cluster)).what_if(drain="n1")
    assert what_if.explain("default/web-1-0").schedulable == (not pending)
