"""The capacity of nodes: what the scheduler counts, by node and by group."""

import json

import pytest

from kschedctl.common.errors import InputError
from kschedctl.output.data_forms import as_json
from kschedctl.questions.charts import Bars
from kschedctl.questions.frame import View
from kschedctl.questions.nodes.analysis import describe_node
from kschedctl.questions.nodes.answer import NodeDescription, NodesOverview
from kschedctl.questions.nodes.document import description_document, node_bars, overview_document
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.answer_schema import validate
from tests.builders import GPU, make_cluster, make_loaded, make_node, make_pod, overview_of
from tests.questions.drawn import cells, parts
from tests.questions.printing import lines

TYPE = "node.kubernetes.io/instance-type"
NOT_READY = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
READY = {"type": "Ready", "status": "True"}
NODES = [
    make_node("a1", cpu="4", zone="a", labels={TYPE: "m5", "eks.amazonaws.com/nodegroup": "web"}, conditions=[READY]),
    make_node("a2", cpu="8", zone="a", labels={TYPE: "m6", "pool": "web"}, conditions=[READY]),
    make_node("b1", cpu="16", zone="b", taints=["team=ml:NoSchedule"], offers={GPU: 2}, conditions=[READY]),
    make_node("b2", cpu="32", zone="b", unschedulable=True, conditions=[READY]),
    make_node("b3", cpu="64", taints=["node.kubernetes.io/not-ready:NoSchedule"], conditions=[NOT_READY]),
]
PODS = [
    make_pod("web-1", namespace="shop", requests={"cpu": "1"}, node="a1"),
    make_pod("web-2", namespace="shop", requests={"cpu": "2500m", "memory": "1Gi"}, node="a1"),
    make_pod("train", namespace="ml", requests={"cpu": "4", GPU: 1}, node="b1"),
    make_pod("huge", namespace="shop", requests={"cpu": "40"}, node="b2"),
    make_pod("waits", namespace="shop", requests={"cpu": "500m"}, nominated="a1"),
    make_pod("pending", namespace="shop", requests={"cpu": "3"}),
]
CLUSTER = make_loaded(make_cluster(NODES, PODS))


def overview(**options: str) -> NodesOverview:
    return overview_of(CLUSTER, **options)


def amounts(answer: NodesOverview, node: str, resource: str) -> tuple[str, str, str, str]:
    (entry,) = [each for each in answer.nodes if each.name == node]
    found = entry.resources[resource]
    return found.allocatable, found.requested, found.free, found.nominated


@pytest.mark.parametrize(
    ("node", "resource", "allocatable", "requested", "free", "nominated"),
    [
        pytest.param("a1", "cpu", "4", "3500m", "500m", "500m", id="two pods; a nominated pod is shown beside them"),
        pytest.param("a1", "memory", "8Gi", "1Gi", "7Gi", "0", id="a pod without a request of memory counts as 0"),
        pytest.param("a1", "pods", "110", "2", "108", "1", id="pods count as slots"),
        pytest.param("b1", GPU, "2", "1", "1", "0", id="an extended resource"),
        pytest.param("b2", "cpu", "32", "40", "0", "0", id="more is requested than allocatable"),
    ],
)
def test_amounts_of_a_node(
    node: str, resource: str, allocatable: str, requested: str, free: str, nominated: str
) -> None:
    assert amounts(overview(), node, resource) == (allocatable, requested, free, nominated)


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("taints", [("", 4, 2, "8500m", "8 on a2"), ("team=ml:NoSchedule", 1, 1, "12", "12 on b1")]),
        ("zone", [("", 1, 0, "-", "-"), ("a", 2, 2, "8500m", "8 on a2"), ("b", 2, 1, "12", "12 on b1")]),
        ("type", [("", 3, 1, "12", "12 on b1"), ("m5", 1, 1, "500m", "500m on a1"), ("m6", 1, 1, "8", "8 on a2")]),
        ("pool", [("", 3, 1, "12", "12 on b1"), ("web", 2, 2, "8500m", "8 on a2")]),
        (TYPE, [("", 3, 1, "12", "12 on b1"), ("m5", 1, 1, "500m", "500m on a1"), ("m6", 1, 1, "8", "8 on a2")]),
    ],
)
def test_groups_sum_the_nodes_that_accept_new_pods(by: str, groups: list[tuple[str, int, int, str, str]]) -> None:
    found = []
    for group in overview(by=by).groups:
        cpu = group.resources.get("cpu")
        block = f"{cpu.largest_free} on {cpu.largest_free_node}" if cpu is not None else "-"
        found.append((group.name, group.nodes, group.available, cpu.free if cpu is not None else "-", block))
    assert found == groups


@pytest.mark.parametrize(
    ("options", "summary"),
    [
        pytest.param(
            {},
            "5 nodes, 4 ready, 1 cordoned, 1 unhealthy; free on the 2 nodes that need no toleration: 8.5 of 12 cpu and "
            "15Gi of 16Gi memory; largest free block: 8 cpu and 8Gi memory on a2.",
            id="all",
        ),
        pytest.param(
            {"nodes": "a*"},
            "2 nodes, 2 ready; free: 8.5 of 12 cpu and 15Gi of 16Gi memory; largest free block: 8 cpu and 8Gi memory "
            "on a2.",
            id="no node is tainted",
        ),
        pytest.param(
            {"nodes": "b1"},
            "1 node, 1 ready; free on 1 tainted node: 12 of 16 cpu and 8Gi of 8Gi memory; "
            "largest free block: 12 cpu and 8Gi memory on b1.",
            id="tainted",
        ),
        pytest.param({"nodes": "b2"}, "1 node, 1 ready, 1 cordoned; no node accepts new pods.", id="cordoned"),
    ],
)
def test_the_first_line_says_what_any_pod_can_use(options: dict[str, str], summary: str) -> None:
    assert overview(**options).summary == summary


@pytest.mark.parametrize(
    ("options", "nodes"),
    [
        pytest.param({}, ["a1", "a2", "b1", "b2", "b3"], id="by name"),
        pytest.param({"sort_by": "cpu"}, ["b2", "a1", "b1", "a2", "b3"], id="fullest first: 125, 87, 25, 0, 0 %"),
        pytest.param({"sort_by": GPU}, ["b1", "a1", "a2", "b2", "b3"], id="nodes without the resource are last"),
        pytest.param({"selector": "pool=web"}, ["a2"], id="by labels"),
        pytest.param({"nodes": "node/a1"}, ["a1"], id="as -o name prints it"),
    ],
)
def test_selection_and_order(options: dict[str, str], nodes: list[str]) -> None:
    assert [node.name for node in overview(**options).nodes] == nodes


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"nodes": "c1"}, "the cluster has no node c1"),
        ({"nodes": "a1", "selector": "pool=web"}, "names of nodes and a selector are given"),
        ({"selector": "pool=old"}, 'no node matches the selector "pool=old"'),
        ({"nodes": "b*", "by": "pool"}, "no node has a label of its pool"),
        ({"by": "rack"}, "no node has the label rack"),
        ({"sort_by": "tpu"}, 'no node has allocatable "tpu"'),
    ],
)
def test_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        overview(**options)


def test_namespaces_that_use_the_nodes() -> None:
    used = [(each.namespace, each.pods, each.requests) for each in overview(nodes="[ab]1").namespaces]
    assert used == [("ml", 1, {"cpu": "4", GPU: "1"}), ("shop", 2, {"cpu": "3500m", "memory": "1Gi"})]


def test_a_description_names_the_workloads_and_the_nominated_pods() -> None:
    answer = describe_node(CLUSTER, "a1")
    assert answer.summary == "a1 is ready; free: 0.5 of 4 cpu and 7Gi of 8Gi memory."
    assert [(each.owner, each.pods) for each in answer.owners] == [
        ("Pod shop/web-2", ("shop/web-2",)),
        ("Pod shop/web-1", ("shop/web-1",)),
    ]
    assert [(each.owner, each.requests) for each in answer.nominated] == [("Pod shop/waits", {"cpu": "500m"})]


@pytest.mark.parametrize(("node", "yes", "available"), [("a1", True, True), ("b2", True, False), ("b3", False, False)])
def test_only_unhealthy_nodes_are_a_problem(node: str, yes: bool, available: bool) -> None:
    answer = describe_node(CLUSTER, node)
    assert (answer.yes, answer.node.available) == (yes, available)
    assert overview(nodes=node).yes is yes


def test_a_node_that_reports_no_capacity() -> None:
    bare = make_loaded(make_cluster([make_node("a", cpu=None, memory=None, pods=None)], []))
    assert overview_of(bare).summary == "1 node; no allocatable cpu or memory."
    assert describe_node(bare, "a").summary == "a; no allocatable cpu or memory."


def test_a_snapshot_without_pods_is_incomplete() -> None:
    answer = overview_of(make_loaded(make_cluster(NODES, [])))
    assert [each.needed_for for each in answer.missing] == ["the snapshot has no pods"]


@pytest.mark.parametrize("answer", [overview(), overview(by="zone"), describe_node(CLUSTER, "b3")])
def test_answers_are_valid_by_the_schema(answer: NodesOverview | NodeDescription) -> None:
    validate(json.loads(as_json(answer)))


def test_a_soft_taint_keeps_no_pod_away() -> None:
    nodes = [make_node("soft", taints=["a:PreferNoSchedule"]), make_node("hard", taints=["b:NoExecute"])]
    printed = lines(overview_document(overview_of(make_loaded(make_cluster(nodes))), View()))
    assert printed[0].startswith("2 nodes; free on the 1 node that needs no toleration")
    rows = [line.split()[:3] for line in printed if line.startswith(("  soft", "  hard"))]
    assert rows == [["hard", "unknown,", "tainted"], ["soft", "unknown", "4/4"]]


JOB = ("batch/v1", "Job", "work")
PODS_OF_A = [
    make_pod("web", requests={"cpu": "1"}, node="a"),
    make_pod("work-1", requests={"cpu": "500m", "memory": "1Gi"}, node="a", owner=JOB),
    make_pod("work-2", requests={"cpu": "500m", "memory": "1Gi"}, node="a", owner=JOB),
    make_pod("soon", requests={"cpu": "250m"}, nominated="a"),
    make_pod("big", requests={"cpu": "3"}),
    make_pod("small", requests={"cpu": "100m"}),
    make_pod("train", requests={GPU: 1}),
]
ONE_NODE = make_loaded(make_cluster([make_node("a", cpu="4", memory="8Gi")], PODS_OF_A))
MANY = make_loaded(
    make_cluster(
        [make_node("a", cpu="40")], [make_pod(f"p{i}", requests={"cpu": f"{i + 1}"}, node="a") for i in range(8)]
    )
)
TEN = make_loaded(
    make_cluster(
        [make_node("a", cpu="9")], [make_pod(f"p{i}", requests={"cpu": f"{i + 1}00m"}, node="a") for i in range(10)]
    )
)


def bars(asked: str = "") -> Bars:
    return node_bars(describe_node(ONE_NODE, "a"), SchedulingCluster(ONE_NODE).explain(asked).pod if asked else None)


USERS = ["Pod default/web: 1 cpu (1 pod)", "Job default/work: 1 cpu (2 pods)", "nominated pods: 0.25 cpu"]


@pytest.mark.parametrize(
    ("asked", "resource", "expected"),
    [
        pytest.param("", "cpu", [*USERS, "free: 1.75 cpu"], id="by-workload"),
        pytest.param("", "memory", ["Job default/work: 2Gi memory (2 pods)", "free: 6Gi memory"], id="only-requests"),
        pytest.param(
            "default/small", "cpu", [*USERS, "this pod: 0.1 cpu", "free: 1.65 cpu"], id="the-pod-takes-of-what-is-free"
        ),
        pytest.param("default/big", "cpu", [*USERS, "this pod: 3 cpu, 1.25 cpu too much"], id="more-than-is-free"),
        pytest.param("default/train", GPU, None, id="a-resource-that-the-node-does-not-have"),
        pytest.param(
            "default/web",
            "cpu",
            ["Job default/work: 1 cpu (2 pods)", "nominated pods: 0.25 cpu", "this pod: 1 cpu", "free: 1.75 cpu"],
            id="a-pod-on-the-node-counts-once",
        ),
    ],
)
def test_parts_of_a_bar(asked: str, resource: str, expected: list[str] | None) -> None:
    assert sorted(parts(bars(asked)).get(resource, ())) == sorted(expected or ())


@pytest.mark.parametrize(
    ("asked", "headings", "row"),
    [
        ("", ("resource", "allocatable", "requested", "free"), ("cpu", "4 cpu", "2 cpu", "2 cpu")),
        (
            "default/big",
            ("resource", "allocatable", "requested", "this pod", "free"),
            ("cpu", "4 cpu", "2 cpu", "3 cpu", "2 cpu"),
        ),
        (
            "default/web",
            ("resource", "allocatable", "requested", "this pod", "free"),
            ("cpu", "4 cpu", "1 cpu", "1 cpu", "3 cpu"),
        ),
    ],
)
def test_numbers_beside_a_bar_have_units(asked: str, headings: tuple[str, ...], row: tuple[str, ...]) -> None:
    assert bars(asked).headings == headings
    assert cells(bars(asked))[0] == row


@pytest.mark.parametrize(("asked", "mark"), [("", None), ("default/small", None), ("default/big", 4000)])
def test_the_limit_is_marked_where_it_is_exceeded(asked: str, mark: int | None) -> None:
    assert bars(asked).rows[0].mark == mark
    assert ("line marks" in bars(asked).note) == (mark is not None)


@pytest.mark.parametrize(("asked", "told"), [("", False), ("default/big", True)])
def test_the_effect_of_nominated_pods_is_told_to_who_asks(asked: str, told: bool) -> None:
    assert ("kept from pods of lower priority" in bars(asked).note) == told


def test_workloads_beyond_eight_share_a_colour() -> None:
    assert [kind.name for kind in node_bars(describe_node(MANY, "a")).kinds][-1] == "free"
    chart = node_bars(describe_node(TEN, "a"))
    assert [kind.name for kind in chart.kinds] == [*(f"Pod default/p{i}" for i in range(9, 1, -1)), "others", "free"]
    assert "others: 0.3 cpu" in parts(chart)["cpu"]


RESIZED = {
    "phase": "Running",
    "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "too much"}],
    "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}],
}


def test_resizes_that_wait_are_named_on_their_node() -> None:
    pods = [make_pod("grown", node="n", requests={"cpu": "3"}, status=RESIZED), make_pod("p", node="n")]
    answer = describe_node(make_loaded(make_cluster([make_node("n"), make_node("m")], pods)), "n")
    assert answer.resizes == (
        "default/grown asks for 3 cpu by a resize that its kubelet cannot carry out, and keeps 1",
    )
    assert "  default/grown asks for 3 cpu by a resize that its kubelet cannot carry out, and keeps 1" in lines(
        description_document(answer, View()), 120
    )
    assert describe_node(make_loaded(make_cluster([make_node("n"), make_node("m")], pods)), "m").resizes == ()
