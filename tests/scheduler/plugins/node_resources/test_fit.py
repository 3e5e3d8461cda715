from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.operands import Operands, Shortfall
from kschedctl.scheduler.framework.pod_groups import Placement, PodGroupAssignments, PodGroupInfo
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_resources.fit import InsufficientResource, NodeResourcesFit
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import (
    GPU,
    decide,
    make_args,
    make_cluster,
    make_container,
    make_members,
    make_node,
    make_pod,
    make_pod_group,
    raw_scores,
    said,
    told,
    with_groups,
)
from tests.reference import node_resources_fit as reference
from tests.strategies import pods, worlds

PLUGIN = "NodeResourcesFit"
CPU, MEMORY, GPUS, PODS = "Insufficient cpu", "Insufficient memory", f"Insufficient {GPU}", "Too many pods"
STORAGE = "Insufficient ephemeral-storage"


def lacking(*reasons: str, ever: bool = False) -> Status:
    """The verdict; ``ever`` where evicting pods would not help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE if ever else Code.UNSCHEDULABLE, reasons)


@pytest.mark.parametrize(
    ("requests", "used", "expected"),
    [
        # The node offers 4 CPU, 8Gi and 2 GPUs.
        pytest.param({"cpu": "1"}, {"cpu": "3"}, Status(), id="wants 1, free 4 - 3 = 1: fits exactly"),
        pytest.param({"cpu": "1001m"}, {"cpu": "3"}, lacking(CPU), id="wants 1.001, free 1: does not"),
        pytest.param({"cpu": "1n"}, {"cpu": "3999.1m"}, lacking(CPU), id="CPU is counted in whole millis, rounded up"),
        pytest.param({"cpu": "4001m"}, {}, lacking(CPU, ever=True), id="more than the node has is never to be had"),
        pytest.param({"memory": "5Gi"}, {"memory": "4Gi"}, lacking(MEMORY), id="wants 5Gi, free 8 - 4 = 4Gi"),
        pytest.param(
            {"cpu": "2", "memory": "5Gi"}, {"cpu": "3", "memory": "4Gi"}, lacking(CPU, MEMORY), id="both are named"
        ),
        pytest.param(
            {"cpu": "2", "memory": "9Gi"},
            {"cpu": "3"},
            lacking(CPU, MEMORY, ever=True),
            id="one that never fits suffices",
        ),
        pytest.param({GPU: 2}, {}, Status(), id="extended resources are counted"),
        pytest.param({GPU: 1}, {GPU: 2}, lacking(GPUS), id="and used up"),
        pytest.param({"example.com/none": 1}, {}, lacking("Insufficient example.com/none", ever=True), id="none there"),
        pytest.param({"cpu": "0", GPU: 0}, {"cpu": "9", GPU: 9}, Status(), id="nothing wanted fits an overfull node"),
        pytest.param({"ephemeral-storage": "1Gi"}, {}, lacking(STORAGE, ever=True), id="storage that is not offered"),
        pytest.param({"hugepages-2Mi": "2Mi"}, {}, lacking("Insufficient hugepages-2Mi", ever=True), id="huge pages"),
        pytest.param(
            {"b.io/x": 1, "a.io/x": 1, "memory": "9Gi"},
            {},
            lacking(MEMORY, "Insufficient a.io/x", "Insufficient b.io/x", ever=True),
            id="extended resources come last, by name",
        ),
    ],
)
def test_requests(requests: dict[str, Any], used: dict[str, Any], expected: Status) -> None:
    cluster = make_cluster([make_node(offers={GPU: 2})], [make_pod("running", node="node", requests=used)])
    assert said(decide(make_pod(requests=requests), cluster), PLUGIN) == expected


def test_a_release_that_expects_help_from_evicting_pods_wherever_resources_lack() -> None:
    release = replace(LATEST, fit_gives_up=False)
    assert said(
        decide(make_pod(requests={"cpu": "5"}), make_cluster([make_node()]), release=release), PLUGIN
    ) == lacking(CPU)


@pytest.mark.parametrize(
    ("room", "n_running", "expected"),
    [
        pytest.param(2, 1, Status(), id="room for one more"),
        pytest.param(2, 2, lacking(PODS), id="full"),
        pytest.param(0, 0, lacking(PODS), id="never any room still counts as resolvable"),
        pytest.param(None, 0, lacking(PODS), id="nothing said is no room"),
    ],
)
def test_number_of_pods(room: int | None, n_running: int, expected: Status) -> None:
    running = [make_pod(f"p{i}", node="node") for i in range(n_running)]
    assert said(decide(make_pod(), make_cluster([make_node(pods=room)], running)), PLUGIN) == expected


def test_too_many_pods_comes_first() -> None:
    cluster = make_cluster([make_node(pods=0)])
    assert said(decide(make_pod(requests={"cpu": "5"}), cluster), PLUGIN) == lacking(PODS, CPU, ever=True)


def cpu(amount: str, **fields: Any) -> dict[str, Any]:
    return make_container(requests={"cpu": amount}, **fields)


def sidecar(amount: str) -> dict[str, Any]:
    return cpu(amount, restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "wants"),
    [
        pytest.param({"containers": [cpu("1"), cpu("500m")]}, 1500, id="containers add up"),
        pytest.param({"containers": [cpu("1")], "initContainers": [cpu("3")]}, 3000, id="a larger init container"),
        pytest.param({"containers": [cpu("2")], "initContainers": [cpu("1")]}, 2000, id="a smaller one does not"),
        pytest.param(
            {"containers": [cpu("1")], "initContainers": [cpu("2"), cpu("3")]}, 3000, id="init containers run in turn"
        ),
        pytest.param({"containers": [cpu("1")], "initContainers": [sidecar("2")]}, 3000, id="a sidecar runs on"),
        pytest.param(
            {"containers": [cpu("1")], "initContainers": [sidecar("2"), cpu("2")]},
            4000,
            id="an init container runs beside the sidecars before it: 2 + 2",
        ),
        pytest.param(
            {"containers": [cpu("1")], "initContainers": [cpu("2"), sidecar("2")]},
            3000,
            id="but not beside those after it: max(2, 1 + 2)",
        ),
        pytest.param({"containers": [cpu("1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead comes on top"),
        pytest.param(
            {"containers": [cpu("1")], "resources": {"requests": {"cpu": "3"}}}, 3000, id="pod-level requests replace"
        ),
        pytest.param(
            {"containers": [cpu("1")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}},
            4000,
            id="overhead comes on top of pod-level requests",
        ),
        pytest.param(
            {"containers": [make_container(resources={"limits": {"cpu": "2"}})]}, 2000, id="a limit alone is a request"
        ),
    ],
)
def test_what_a_pod_requests(spec: dict[str, Any], wants: int) -> None:
    def verdict(offered: int) -> Status:
        return said(decide(make_pod(**spec), make_cluster([make_node(cpu=f"{offered}m")])), PLUGIN)

    assert verdict(wants) == Status()
    assert verdict(wants - 1) == lacking(CPU, ever=True)


def test_pod_level_requests_count_only_where_the_gate_is_on() -> None:
    release = RELEASES["1.34"].with_features({"PodLevelResources": False})
    pod = make_pod(containers=[cpu("1")], resources={"requests": {"cpu": "5"}})
    assert said(decide(pod, make_cluster([make_node()]), release=release), PLUGIN) == Status()


@pytest.mark.parametrize(
    ("status", "free"),
    [
        # The node has 4 CPU; the pod on it wants 1.
        pytest.param({}, 3000, id="nothing reported: what the spec wants"),
        pytest.param(
            {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
            2000,
            id="shrinking from 2: still 2",
        ),
        pytest.param(
            {
                "containerStatuses": [
                    {"name": "c", "resources": {"requests": {"cpu": "500m"}}, "allocatedResources": {"cpu": "500m"}}
                ]
            },
            3000,
            id="growing from 0.5: already 1",
        ),
        pytest.param(
            {"containerStatuses": [{"name": "c", "resources": {}, "allocatedResources": {"cpu": "3"}}]},
            1000,
            id="allocated but not yet running: 3",
        ),
        pytest.param(
            {
                "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
            },
            3500,
            id="growing is infeasible: 0.5",
        ),
        pytest.param(
            {
                "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
            },
            3000,
            id="growing is deferred: 1",
        ),
    ],
)
def test_a_resize_in_place_counts_with_the_largest(status: dict[str, Any], free: int) -> None:
    cluster = make_cluster([make_node()], [make_pod("running", node="node", requests={"cpu": "1"}, status=status)])
    assert said(decide(make_pod(requests={"cpu": f"{free}m"}), cluster), PLUGIN) == Status()
    assert said(decide(make_pod(requests={"cpu": f"{free + 1}m"}), cluster), PLUGIN) == lacking(CPU)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, lacking("Insufficient a.io/x", "Insufficient b.io/x", ever=True), id="nothing ignored"),
        pytest.param({"ignoredResources": ["a.io/x"]}, lacking("Insufficient b.io/x", ever=True), id="one resource"),
        pytest.param({"ignoredResourceGroups": ["b.io"]}, lacking("Insufficient a.io/x", ever=True), id="a group"),
        pytest.param({"ignoredResources": ["a.io/x"], "ignoredResourceGroups": ["b.io"]}, Status(), id="both"),
    ],
)
def test_ignored_resources(args: dict[str, Any], expected: Status) -> None:
    pod = make_pod(requests={"a.io/x": 1, "b.io/x": 1})
    assert said(decide(pod, make_cluster([make_node()]), config=make_args(NodeResourcesFit=args)), PLUGIN) == expected


@pytest.mark.parametrize(
    ("requests", "detail", "data"),
    [
        pytest.param(
            {"cpu": "2"},
            "wants 2 cpu, free 1.2 of 4",
            {"resource": "cpu", "requested": "2", "used": "2800m", "allocatable": "4"},
            id="CPU",
        ),
        pytest.param(
            {"memory": "6Gi"},
            "wants 6Gi memory, free 5.5Gi of 8Gi",
            {"resource": "memory", "requested": "6Gi", "used": "2560Mi", "allocatable": "8Gi"},
            id="memory",
        ),
        pytest.param(
            {GPU: 1},
            f"wants 1 {GPU}, free 0 of 1",
            {"resource": GPU, "requested": "1", "used": "1", "allocatable": "1"},
            id="a device",
        ),
        pytest.param(
            {"example.com/none": 3},
            "wants 3 example.com/none, node offers none",
            {"resource": "example.com/none", "requested": "3", "used": "0", "allocatable": "0"},
            id="nothing offered",
        ),
    ],
)
def test_details(requests: dict[str, Any], detail: str, data: dict[str, Any]) -> None:
    running = make_pod("running", node="node", requests={"cpu": "2800m", "memory": "2.5Gi", GPU: 1})
    decision = decide(make_pod(requests=requests), make_cluster([make_node(offers={GPU: 1})], [running]))
    ((_, (found,)),) = decision.node("node").reasons
    assert (found.detail, found.data) == (detail, data)


def test_detail_of_too_many_pods() -> None:
    cluster = make_cluster([make_node(pods=1)], [make_pod("running", node="node")])
    ((_, (found,)),) = decide(make_pod(), cluster).node("node").reasons
    assert (found.text, found.detail) == (PODS, "has 1 of 1 pods")


def strategy(kind: str, *resources: dict[str, Any], shape: list[tuple[int, int]] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind}
    if resources:
        found["resources"] = list(resources)
    if shape:
        points = [{"utilization": utilization, "score": score} for utilization, score in shape]
        found["requestedToCapacityRatio"] = {"shape": points}
    return make_args(NodeResourcesFit={"scoringStrategy": found})


def weighted(name: str, weight: int) -> dict[str, Any]:
    return {"name": name, "weight": weight}


LINE = [(0, 0), (100, 10)]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # 4 CPU and 8Gi; with the pod 3 CPU and 2Gi are requested: used shares 75% and 25%.
        pytest.param(strategy("LeastAllocated"), 50, id="least: (25 + 75) // 2"),
        pytest.param(
            strategy("LeastAllocated", weighted("cpu", 3), weighted("memory", 1)), 37, id="weights: (3 * 25 + 75) // 4"
        ),
        pytest.param(strategy("MostAllocated"), 50, id="most: (75 + 25) // 2"),
        pytest.param(
            strategy("MostAllocated", weighted("cpu", 3), weighted("memory", 1)), 62, id="most: (3 * 75 + 25) // 4"
        ),
        pytest.param(strategy("MostAllocated", weighted("cpu", 1)), 75, id="one resource"),
        pytest.param(
            strategy("MostAllocated", weighted("cpu", 1), weighted("memory", 1), weighted("cpu", 2)),
            62,
            id="a resource counts as often as it is listed: (75 + 25 + 2 * 75) // 4",
        ),
        pytest.param(
            strategy("MostAllocated", weighted("cpu", 1), weighted(GPU, 9)), 75, id="a device nobody asks for"
        ),
        pytest.param(strategy("RequestedToCapacityRatio", shape=LINE), 50, id="a line: (75 + 25) / 2"),
        pytest.param(
            strategy("RequestedToCapacityRatio", weighted("cpu", 1), shape=[(0, 10), (50, 2), (100, 0)]),
            10,
            id="a broken line at 75%: 20 - 20 * 25 // 50",
        ),
        pytest.param(
            strategy("RequestedToCapacityRatio", weighted("cpu", 1), shape=[(80, 3), (90, 9)]),
            30,
            id="before the first point: its score",
        ),
        pytest.param(
            strategy("RequestedToCapacityRatio", weighted("cpu", 1), shape=[(10, 3), (20, 9)]),
            90,
            id="after the last point: its score",
        ),
        pytest.param(
            strategy("RequestedToCapacityRatio", shape=[(50, 0), (100, 10)]),
            50,
            id="resources that score 0 do not count: 50 of CPU alone",
        ),
    ],
)
def test_strategies(config: dict[str, Any], expected: int) -> None:
    running = make_pod("running", node="node", requests={"cpu": "2", "memory": "1Gi"})
    cluster = make_cluster([make_node(offers={GPU: 1})], [running])
    decision = decide(make_pod(requests={"cpu": "1", "memory": "1Gi"}), cluster, config=config)
    assert raw_scores(decision, PLUGIN) == {"node": expected}


def test_requested_to_capacity_ratio_rounds_halves_up() -> None:
    config = strategy("RequestedToCapacityRatio", shape=LINE)
    cluster = make_cluster([make_node(cpu="4", memory="4000")])
    decision = decide(make_pod(requests={"cpu": "1", "memory": "1040"}), cluster, config=config)
    assert raw_scores(decision, PLUGIN) == {"node": 26}  # (25 + 26) / 2 = 25.5


def test_containers_without_requests_count_with_a_tenth_of_a_cpu_and_200_mebibytes() -> None:
    node = make_node(cpu="1", memory="1000Mi")
    cluster = make_cluster([node], [make_pod("running", node="node")])
    # CPU: 100 - 2 * 10, memory: 100 - 2 * 20
    assert raw_scores(decide(make_pod(), cluster), PLUGIN) == {"node": 70}


def level(**requests: str) -> dict[str, Any]:
    """Return the resources of a pod as a whole, in manifest form."""
    return {"resources": {"requests": requests}}


@pytest.mark.parametrize(
    ("spec", "old", "new"),
    [
        # The score is the mean of the free shares of 4 CPU and 4000Mi.
        pytest.param(
            {"containers": [cpu("1")], **level(cpu="3", memory="2000Mi")},
            85,
            37,
            id="1.37: 1 CPU and the default of 200Mi, (75 + 95) // 2; 1.38: (25 + 50) // 2",
        ),
        pytest.param(level(cpu="3"), 96, 60, id="1.37: 100m; 1.38: (25 + 95) // 2, memory with its default"),
        pytest.param(
            {"containers": [make_container("a"), make_container("b")], **level(cpu="3")},
            92,
            57,
            id="1.37: 100m and 200Mi per container, (95 + 90) // 2; 1.38: (25 + 90) // 2",
        ),
        pytest.param(level(cpu="0", memory="0"), 96, 100, id="1.38: zero is a request, without defaults"),
        pytest.param({"containers": [cpu("1")]}, 85, 85, id="a pod without them as before"),
    ],
)
def test_score_of_pod_level_requests(spec: dict[str, Any], old: int, new: int) -> None:
    """In 1.37 the score counts the containers alone, in 1.38 the resources of the pod as a whole."""
    cluster = make_cluster([make_node(cpu="4", memory="4000Mi")])
    found = {
        version: raw_scores(decide(make_pod(**spec), cluster, release=RELEASES[version]), PLUGIN)
        for version in ("1.37", "1.38")
    }
    assert found == {"1.37": {"node": old}, "1.38": {"node": new}}


@pytest.mark.parametrize("version", ["1.37", "1.38"])
def test_pod_level_requests_are_not_scored_without_the_gate(version: str) -> None:
    release = RELEASES[version].with_features({"PodLevelResources": False})
    pod = make_pod(containers=[cpu("1")], **level(cpu="3", memory="2000Mi"))
    cluster = make_cluster([make_node(cpu="4", memory="4000Mi")])
    assert raw_scores(decide(pod, cluster, release=release), PLUGIN) == {"node": 85}


@pytest.mark.parametrize(
    ("kind", "shape", "requested", "old", "new"),
    [
        # Of 4Ei memory: 2^62 bytes. From 2^63 / 100 bytes on, 100 times the amount exceeds 64 bits.
        pytest.param("LeastAllocated", None, "3Ei", 1, 25, id="least: 1Ei is free"),
        pytest.param("MostAllocated", None, "1Ei", 1, 25, id="most: 1Ei is used"),
        pytest.param("RequestedToCapacityRatio", LINE, "3Ei", 0, 75, id="ratio: 3Ei are used"),
        pytest.param("MostAllocated", None, "80Pi", 1, 1, id="most: below 2^63 / 100"),
    ],
)
def test_score_of_huge_amounts(
    kind: str, shape: list[tuple[int, int]] | None, requested: str, old: int, new: int
) -> None:
    config = strategy(kind, weighted("memory", 1), shape=shape)
    cluster = make_cluster([make_node(memory="4Ei")])
    pod = make_pod(requests={"memory": requested})
    found = {
        version: raw_scores(decide(pod, cluster, release=RELEASES[version], config=config), PLUGIN)
        for version in ("1.37", "1.38")
    }
    assert found == {"1.37": {"node": old}, "1.38": {"node": new}}


@pytest.mark.parametrize(
    ("used", "old", "new"),
    [
        pytest.param(["4Ei"], lacking(MEMORY), lacking(MEMORY), id="2^62 bytes: more than the node has"),
        pytest.param(["4Ei", "4Ei", "4Ei"], Status(), lacking(MEMORY), id="3 * 2^62 bytes: 1.37 comes to -2^62"),
        pytest.param(["4Ei", "4Ei", "4Ei", "4Ei"], Status(), lacking(MEMORY), id="2^64 bytes: 1.37 comes to zero"),
        pytest.param(["1Gi"], Status(), Status(), id="room is left"),
    ],
)
def test_sums_of_huge_requests(used: list[str], old: Status, new: Status) -> None:
    """In 1.37 the sum of the requests on a node wraps around, in 1.38 it stays at the largest number."""
    pods = [make_pod(f"p{i}", node="node", requests={"memory": memory}) for i, memory in enumerate(used)]
    cluster = make_cluster([make_node(memory="8Gi")], pods)
    pod = make_pod(requests={"memory": "1Gi"})
    found = {version: said(decide(pod, cluster, release=RELEASES[version]), PLUGIN) for version in ("1.37", "1.38")}
    assert found == {"1.37": old, "1.38": new}


def test_a_node_without_cpu_is_scored_by_memory_alone() -> None:
    decision = decide(make_pod(requests={"memory": "2Gi"}), make_cluster([make_node(cpu=None)]))
    assert raw_scores(decision, PLUGIN) == {"node": 75}


@given(st.data())
def test_equals_the_slow_reference(data: st.DataObject) -> None:
    world = data.draw(worlds("requests", of_nodes=("offers",)))
    pod = data.draw(pods("requests"))
    decision = decide(pod, world.cluster)
    feasible = {}
    for node in world.nodes:
        names = reference.insufficient(pod, node, world.on(node))
        texts = tuple(PODS if name == "pods" else f"Insufficient {name}" for name in names)
        assert said(decision, PLUGIN, node.name).reasons == texts
        if not names:
            feasible[node.name] = reference.least_allocated(pod, node, world.on(node))
    if feasible:
        assert raw_scores(decision, PLUGIN) == feasible


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            InsufficientResource("cpu", 2000, used=2800, allocatable=4000),
            "wants 2 cpu, free 1.2 of 4",
            {"resource": "cpu", "requested": "2", "used": "2800m", "allocatable": "4"},
            id="milli-CPU",
        ),
        pytest.param(
            InsufficientResource("memory", 3 << 30, used=3 << 29, allocatable=1 << 32),
            "wants 3Gi memory, free 2.5Gi of 4Gi",
            {"resource": "memory", "requested": "3Gi", "used": "1536Mi", "allocatable": "4Gi"},
            id="bytes",
        ),
        pytest.param(
            InsufficientResource(GPU, 1, used=0, allocatable=0),
            f"wants 1 {GPU}, node offers none",
            {"resource": GPU, "requested": "1", "used": "0", "allocatable": "0"},
            id="none",
        ),
        pytest.param(
            InsufficientResource("pods", 1, used=110, allocatable=110),
            "has 110 of 110 pods",
            {"resource": "pods", "requested": "1", "used": "110", "allocatable": "110"},
            id="pods",
        ),
        pytest.param(
            InsufficientResource("cpu", 500, 2700, 1930, 900, ("bank/urgent",)),
            "wants 0.5 cpu, free 0.13 of 1.93, 0.9 kept for nominated bank/urgent",
            {
                "resource": "cpu",
                "requested": "500m",
                "used": "2700m",
                "allocatable": "1930m",
                "nominated": "900m",
                "nominatedPods": ("bank/urgent",),
            },
            id="a nominated pod",
        ),
        pytest.param(
            InsufficientResource("pods", 1, 111, 110, 2, ("a/b", "c/d")),
            "has 109 of 110 pods, 2 kept for nominated a/b and 1 more",
            {
                "resource": "pods",
                "requested": "1",
                "used": "111",
                "allocatable": "110",
                "nominated": "2",
                "nominatedPods": ("a/b", "c/d"),
            },
            id="two nominated pods",
        ),
        pytest.param(
            InsufficientResource("cpu", 500, 2700, 1930),
            "wants 0.5 cpu, free 0 of 1.93",
            {"resource": "cpu", "requested": "500m", "used": "2700m", "allocatable": "1930m"},
            id="an overcommitted node",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)


@pytest.mark.parametrize(
    ("pod", "before", "after", "new"),
    [
        # The pod requests 2 CPU.
        pytest.param({"nominated": "node"}, {"cpu": "4"}, {"cpu": "1"}, True, id="its nominated node shrinks"),
        pytest.param({}, {"cpu": "4"}, {"cpu": "1"}, False, id="a node shrinks to which it is not nominated"),
        pytest.param({"nominated": "node"}, {"cpu": "4"}, {"cpu": "3"}, False, id="it still fits"),
        pytest.param({"nominated": "node"}, {"cpu": "1"}, {"cpu": "1"}, False, id="it did not fit before"),
        pytest.param(
            {"nominated": "node", "schedulingGroup": {"podGroupName": "gang"}},
            {"cpu": "4"},
            {"cpu": "1"},
            False,
            id="a member of a group",
        ),
        pytest.param(
            {"nominated": "node", "requests": {GPU: 1}}, {"offers": {GPU: 1}}, {}, False, id="an extended resource"
        ),
    ],
)
def test_a_nominated_node_that_shrinks_wakes_from_1_38_on(
    pod: dict[str, Any], before: dict[str, Any], after: dict[str, Any], new: bool
) -> None:
    waiting = make_pod(**{"requests": {"cpu": "2"}, **pod})
    found = {}
    for version in ("1.37", "1.38"):
        plugin = Scheduler(make_cluster(), RELEASES[version]).framework("default-scheduler").plugin(PLUGIN)
        assert isinstance(plugin, NodeResourcesFit)
        found[version] = plugin.after_node_change(waiting, make_node(**before), make_node(**after))
    assert found == {"1.37": False, "1.38": new}


@pytest.mark.parametrize(
    ("requested", "used", "lacking", "share"),
    [
        pytest.param(2000, 2800, 800, 0.4, id="2000 - (4000 - 2800)"),
        pytest.param(1000, 5000, 2000, 2.0, id="overcommitted: 1000 - (4000 - 5000)"),
    ],
)
def test_shortfall(requested: int, used: int, lacking: int, share: float) -> None:
    shortfall = InsufficientResource("cpu", requested, used, allocatable=4000).shortfall()
    assert (shortfall, shortfall.share) == (Shortfall("cpu", requested, lacking, 4000), share)


@pytest.mark.parametrize(
    ("wants", "words"),
    [
        pytest.param("0.2", "wants 0.2 cpu, free 1 of 4, 0.9 kept for nominated default/urgent", id="it needs a part"),
        pytest.param("2", "wants 2 cpu, free 1 of 4, 0.9 kept for nominated default/urgent", id="it needs more"),
    ],
)
def test_capacity_is_kept_for_nominated_pods(wants: str, words: str) -> None:
    running = make_pod("running", requests={"cpu": "3"}, node="node")
    urgent = make_pod("urgent", requests={"cpu": "900m"}, priority=9, nominated="node")
    minor = make_pod("minor", requests={"cpu": "1"}, nominated="node")
    pods = [running, urgent, minor]
    decision = decide(make_pod(requests={"cpu": wants}, priority=5), make_cluster([make_node()], pods))
    assert decision.statuses is not None
    ((plugin, (reason,)),) = decision.statuses.reasons(0)
    assert (plugin, reason.operands and reason.operands.words()) == (PLUGIN, words)


CPU_ONLY = [{"name": "cpu", "weight": 1}]


def members(n: int, **requests: str) -> list[Pod]:
    return make_members(
        " ".join(f"m-{i}" for i in range(n)), requests={GPU if k == "gpu" else k: v for k, v in requests.items()}
    )


def score(placed: list[Pod], rows: list[int], strategy: dict[str, Any] | None = None) -> int:
    """Return the score of a placement: nodes of 10 CPU and 10Gi, of which the first has a pod of 2 CPU and 4Gi."""
    nodes = [make_node(name, cpu="10", memory="10Gi", offers={GPU: 8 if name == "a" else 0}) for name in "abc"]
    running = make_pod("running", requests={"cpu": "2", "memory": "4Gi"}, node="a")
    release = with_groups("1.37", topology=True)
    registry = in_tree_registry()
    config = make_args(NodeResourcesFit={"scoringStrategy": strategy}) if strategy else make_args()
    points = registry.extension_points(release)
    loaded = load_configuration(config, release=release, implements=points, args_types=registry.args_types)
    plugin = (
        Scheduler(make_cluster(nodes, [running]), release, loaded)
        .framework("default-scheduler")
        .plugin("NodeResourcesFit")
    )
    assert isinstance(plugin, NodeResourcesFit)
    assignments = PodGroupAssignments(Placement("", np.array(rows)), [(pod, "a") for pod in placed])
    return plugin.score_placement(PodGroupInfo("default", "gang", make_pod_group(), ()), assignments)


@pytest.mark.parametrize(
    ("placed", "rows", "strategy", "expected"),
    [
        pytest.param(
            members(2, cpu="3", memory="1Gi"), [0], None, 70, id="(2+6)/10 = 80 and (4+2)/10 = 60, the mean is 70"
        ),
        pytest.param(
            members(2, cpu="3", memory="1Gi"), [0, 1], None, 35, id="over the sums of two nodes: 8/20 = 40, 6/20 = 30"
        ),
        pytest.param(members(2, cpu="3", memory="1Gi"), [1], None, 40, id="an empty node: 6/10 = 60 and 2/10 = 20"),
        pytest.param(
            members(2, cpu="3", memory="1Gi"),
            [0],
            {"type": "LeastAllocated", "resources": CPU_ONLY},
            80,
            id="most allocated, whatever the strategy",
        ),
        pytest.param(
            members(1, cpu="3", memory="1Gi"),
            [0],
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]},
            50,
            id="weighted: (3 x 50 + 1 x 50) / 4",
        ),
        pytest.param(members(1), [1], None, 1, id="non-zero defaults: 100m of 10 = 1, 200Mi of 10Gi = 1.95"),
        pytest.param(
            members(2, gpu="2"),
            [0, 1],
            {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 1}]},
            50,
            id="GPUs of the placement: 4/8",
        ),
    ],
)
def test_score_placement(placed: list[Pod], rows: list[int], strategy: dict[str, Any] | None, expected: int) -> None:
    assert score(placed, rows, strategy) == expected
