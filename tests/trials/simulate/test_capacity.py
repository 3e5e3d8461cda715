"""The number of copies that fit: in closed form if only the node decides, otherwise one by one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from kschedctl.common.errors import InputError
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceClaimTemplate
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate import capacity as module
from kschedctl.trials.simulate.capacity import Copy, CopyCount, capacity
from tests import strategies
from tests.builders import make_cluster, make_node, make_object, make_pod
from tests.example_counts import scaled
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
