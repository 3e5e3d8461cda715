"""The number of copies of pod groups that fit whole, by the rules of both releases that schedule groups."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kschedctl.objects.device import ResourceClaimTemplate
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.gang_capacity import Gang, GangCount, gang_capacity
from tests.builders import make_cluster, make_node, make_object, make_pod
from tests.gangs import GROUPING, RACK, make_group, make_members
from tests.scheduler.devices.builders import make_class, make_device, make_slice, request

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
    assert found.next.pre_enqueue.message == "waiting for minCount pods from a gang to appear in scheduling queue"


@pytest.mark.parametrize("version", GROUPING)
def test_copies_get_claims_and_devices_of_their_own(version: str) -> None:
    template = make_object(
        ResourceClaimTemplate, "gpus", namespace="default", spec={"spec": {"devices": {"requests": [request()]}}}
    )
    pods = tuple(make_members(2, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}]))
    devices = make_slice("s", *(make_device(f"d{i}") for i in range(5)), node="b")
    group = make_group(min_count=2)
    cluster = make_cluster([make_node("a"), make_node("b")], [], group, template, make_class(), devices)
    found = gang_capacity(Scheduler(cluster, GROUPING[version]), Gang(group, pods))
    assert (found.total, found.counts.tolist()) == (2, [0, 4])
