"""The number of copies that fit: in closed form if only the node decides, otherwise one by one."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from kschedctl.common.errors import InputError
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceClaimTemplate
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate import capacity as module
from kschedctl.trials.simulate.capacity import Copy, CopyCount, Gang, GangCount, capacity, gang_capacity
from tests import strategies
from tests.builders import make_cluster, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.gangs import GROUPING, RACK, make_group, make_members
from tests.scheduler.devices.builders import make_class, make_device, make_slice, request
from tests.strategies import World

HOST = "kubernetes.io/hostname"


def copies_of(pod: Pod) -> Copy:
    return lambda number: MadePod(replace(pod, metadata=replace(pod.metadata, name=f"copy+{number}", uid="")))


def fill(pod: Pod, nodes: Iterable[Node], *pods: Pod, most: int | None = None) -> CopyCount:
    return capacity(Scheduler(make_cluster(nodes, pods)), copies_of(pod), most)


def apart(app: str) -> dict[str, object]:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


TWO = [make_node("a", cpu="4"), make_node("b", cpu="2", taints=["only=web:NoSchedule"])]


@pytest.mark.parametrize(
    ("pod", "counts", "stop"),
    [
        pytest.param(make_pod(requests={"cpu": "1500m"}), [2, 0], "1 Insufficient cpu", id="what is left over is lost"),
        pytest.param(make_pod(requests={"cpu": "5"}), [0, 0], "1 Insufficient cpu", id="not one"),
        pytest.param(
            make_pod(requests={"cpu": "1"}, tolerations=[{"operator": "Exists"}]),
            [4, 2],
            "2 Insufficient cpu",
            id="nodes that it tolerates",
        ),
        pytest.param(make_pod(), [110, 0], "1 Too many pods", id="a pod without requests is one pod"),
        pytest.param(
            make_pod(labels={"app": "x"}, affinity=apart("x")),
            [1, 0],
            "1 node(s) didn't match pod anti-affinity rules",
            id="copies that stand in each other's way",
        ),
        pytest.param(
            make_pod(containers=[{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]),
            [1, 0],
            "1 node(s) didn't have free ports for the requested pod ports",
            id="a host port once per node",
        ),
    ],
)
def test_capacity(pod: Pod, counts: list[int], stop: str) -> None:
    found = fill(pod, TWO)
    assert found.counts.tolist() == counts
    assert not found.bounded
    assert stop in found.next.message


@pytest.mark.parametrize(
    ("most", "counts", "bounded", "stop"),
    [
        pytest.param(None, [0, 2], False, "2 cannot allocate all claims", id="as many as there are devices"),
        pytest.param(1, [0, 1], True, "", id="no more than asked for"),
    ],
)
def test_copies_get_claims_and_devices_of_their_own(
    most: int | None, counts: list[int], bounded: bool, stop: str
) -> None:
    template = make_object(
        ResourceClaimTemplate, "gpus", namespace="default", spec={"spec": {"devices": {"requests": [request()]}}}
    )
    pod = make_pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])
    devices = make_slice("s", make_device("x"), make_device("y"), node="b")
    cluster = make_cluster([make_node("a"), make_node("b")], [], template, make_class(), devices)
    found = capacity(Scheduler(cluster), copies_of(pod), most)
    assert (found.counts.tolist(), found.bounded) == (counts, bounded)
    assert stop in found.next.message


def test_no_more_than_asked_for() -> None:
    found = fill(make_pod(requests={"cpu": "1"}), TWO, most=3)
    assert (found.total, found.bounded) == (3, True)


@pytest.mark.parametrize("pods", [2_000_001, 10**12, 2**63 - 1])
def test_more_copies_than_can_be_counted(pods: int) -> None:
    nodes = [make_node(name, pods=pods) for name in "ab"]
    with pytest.raises(InputError, match=f"{2 * pods:,} copies fit\n  copies are counted up to 2,000,000"):
        fill(make_pod(), nodes)
    assert fill(make_pod(), nodes, most=2).bounded


def test_nobody_is_evicted_for_a_copy() -> None:
    found = fill(make_pod(priority=9, requests={"cpu": "4"}), TWO, make_pod("low", requests={"cpu": "1"}, node="a"))
    assert found.total == 0


@given(world=strategies.worlds("requests", "ports", of_nodes=("labels", "taints", "offers"), pending=1))
@settings(max_examples=scaled(40))
def test_the_closed_form_is_what_one_by_one_comes_to(world: World) -> None:
    scheduler = Scheduler(make_cluster(world.nodes, world.pods[:-1], *world.namespaces))
    copy = copies_of(world.pods[-1])
    short = capacity(scheduler, copy)
    if short.total <= 150:
        long = module._one_by_one(scheduler, copy, 1000)
        assert short.counts.tolist() == long.counts.tolist()
        assert short.next.message == long.next.message


#: Two racks: r1 has 5 free CPUs on two nodes, r2 has 6; one node has no rack.
NODES = [
    make_node("r1-a", cpu="3", labels={RACK: "r1"}),
    make_node("r1-b", cpu="2", labels={RACK: "r1"}),
    make_node("r2-a", cpu="6", labels={RACK: "r2"}),
    make_node("other", cpu="1"),
]


def members(*cpus: int) -> tuple[Pod, ...]:
    return tuple(
        pod
        for i, cpu in enumerate(cpus)
        for pod in [make_pod(f"gang-{i}", requests={"cpu": cpu}, schedulingGroup={"podGroupName": "gang"})]
    )


def count(version: str, group: PodGroup, pods: tuple[Pod, ...], *there: Pod, most: int | None = None) -> GangCount:
    scheduler = Scheduler(make_cluster(NODES, there, group), GROUPING[version])
    return gang_capacity(scheduler, Gang(group, pods), most)


@pytest.mark.parametrize("version", GROUPING)
@pytest.mark.parametrize(
    ("group", "cpus", "total", "domains", "next_fitting"),
    [
        # 12 CPUs on 4 nodes.
        pytest.param(make_group(min_count=4), (1, 1, 1, 1), 3, {}, 0, id="three gangs fill all nodes"),
        pytest.param(make_group(min_count=5), (1,) * 5, 2, {}, 2, id="the last two CPUs are not enough for a gang"),
        pytest.param(make_group(min_count=2), (2, 2), 2, {}, 1, id="what is left over on nodes is lost"),
        pytest.param(make_group(min_count=1), (7,), 0, {}, 0, id="not one"),
        pytest.param(make_group(), (1,) * 5, 2, {}, 2, id="the basic policy is counted whole too"),
        # A rack each: 5 CPUs in r1, 6 in r2, none of the node without a rack.
        pytest.param(make_group(min_count=4, topology=RACK), (1,) * 4, 2, {"r1": 1, "r2": 1}, 2, id="one rack each"),
        pytest.param(make_group(min_count=6, topology=RACK), (1,) * 6, 1, {"r1": 0, "r2": 1}, 5, id="only one rack"),
        pytest.param(make_group(min_count=3, topology=RACK), (1,) * 3, 3, {"r1": 1, "r2": 2}, 2, id="two in a rack"),
        pytest.param(make_group(min_count=2), (1, 5), 1, {}, 1, id="members of different sizes"),
        pytest.param(make_group(min_count=2), (1,) * 5, 2, {}, 2, id="a part is not counted, even if it would start"),
    ],
)
def test_whole_gangs(
    version: str, group: PodGroup, cpus: tuple[int, ...], total: int, domains: Mapping[str, int], next_fitting: int
) -> None:
    found = count(version, group, members(*cpus))
    following = group_of(found.next)
    assert (found.total, found.domains, found.bounded) == (total, domains, False)
    assert found.counts.sum() == total * len(cpus)
    assert following is not None
    assert following.n_fitting == next_fitting


@pytest.mark.parametrize("version", GROUPING)
def test_no_more_than_requested(version: str) -> None:
    found = count(version, make_group(min_count=4), members(1, 1, 1, 1), most=2)
    assert (found.total, found.bounded) == (2, True)


@pytest.mark.parametrize("version", GROUPING)
def test_no_pod_is_evicted_for_a_gang(version: str) -> None:
    low = make_pod("low", priority=-1, requests={"cpu": "5"}, node="r2-a")
    # 7 CPUs are free beside the pod of lower priority.
    assert count(version, make_group(min_count=4), members(1, 1, 1, 1), low).total == 1


@pytest.mark.parametrize("version", GROUPING)
def test_fewer_pods_than_min_count_are_never_tried(version: str) -> None:
    found = count(version, make_group(min_count=3), members(1, 1))
    assert (found.total, group_of(found.next)) == (0, None)
    told = {"1.38": "waiting for podgroup/default/gang+1 to meet its quorum"}
    text = told.get(version, "waiting for minCount pods from a gang to appear in scheduling queue")
    assert found.next.pre_enqueue.message == text


@pytest.mark.parametrize("version", GROUPING)
def test_gang_capacity_copies_get_claims_and_devices_of_their_own(version: str) -> None:
    template = make_object(
        ResourceClaimTemplate, "gpus", namespace="default", spec={"spec": {"devices": {"requests": [request()]}}}
    )
    pods = tuple(make_members(2, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}]))
    devices = make_slice("s", *(make_device(f"d{i}") for i in range(5)), node="b")
    group = make_group(min_count=2)
    cluster = make_cluster([make_node("a"), make_node("b")], [], group, template, make_class(), devices)
    found = gang_capacity(Scheduler(cluster, GROUPING[version]), Gang(group, pods))
    assert (found.total, found.counts.tolist()) == (2, [0, 4])
