"""Devices that are held for finished pods, or that a driver has not published."""

from typing import Any

import msgspec
import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.diagnosis.rules.cures import cures
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice, request

OF_DRIVER = make_class("gpu", 'device.driver == "gpu.example.com"')
SLICE = make_slice("s", make_device("gpu-0"), make_device("gpu-1"), node="a")
HELD = (
    "claim default/of-eval holds devices of DeviceClass gpu on a and is still reserved for pod default/eval, which has "
    "finished or no longer exists; b has no gpu devices, claim default/new wants 1"
)
DELETE = "delete finished pod default/eval, or claim default/of-eval if the pod is gone: this releases the devices on a"


REMADE = msgspec.convert({"metadata": {"name": "eval", "namespace": "default", "uid": "remade"}}, Pod)


def held(device: str, pod: str) -> ApiObject:
    return make_claim(f"of-{pod}", holds=[f"a/{device}"], node="a", reserved=[pod])


def cluster_of(*objects: ApiObject, pods: list[Pod] | None = None, **node: Any) -> Cluster:
    return make_cluster([make_node("a", **node), make_node("b")], pods or [make_pod("web", node="b")], *objects)


@pytest.mark.parametrize(
    ("wanted", "cluster", "cause", "cure"),
    [
        pytest.param(
            1,
            cluster_of(SLICE, held("gpu-0", "eval"), held("gpu-1", "train"), pods=[make_pod("train", node="a")]),
            HELD,
            DELETE,
            id="one of two holders has finished",
        ),
        pytest.param(
            2,
            cluster_of(SLICE, held("gpu-0", "eval"), held("gpu-1", "test")),
            "claims default/of-eval and default/of-test hold devices of DeviceClass gpu on a and are still reserved "
            "for pods default/eval and default/test, which have finished or no longer exist; b has no gpu devices, "
            "claim default/new wants 2",
            "delete finished pods default/eval and default/test, or claims default/of-eval and default/of-test if the "
            "pods are gone: this releases the devices on a",
            id="both have finished",
        ),
        pytest.param(
            1,
            cluster_of(SLICE, held("gpu-0", "x"), held("gpu-1", "eval"), pods=[REMADE, make_pod("x")]),
            HELD,
            DELETE,
            id="another pod of the same name",
        ),
        pytest.param(
            2,
            cluster_of(SLICE, held("gpu-0", "eval"), held("gpu-1", "train"), pods=[make_pod("train", node="a")]),
            None,
            None,
            id="too few devices are released",
        ),
        pytest.param(
            1,
            cluster_of(SLICE, held("gpu-0", "a1"), held("gpu-1", "a2"), pods=[make_pod("a1"), make_pod("a2")]),
            None,
            None,
            id="the pods exist",
        ),
        pytest.param(
            1,
            cluster_of(SLICE, held("gpu-0", "eval"), held("gpu-1", "test"), taints=["other=team:NoSchedule"]),
            None,
            None,
            id="the pod could not go there either way",
        ),
    ],
)
def test_devices_of_finished_pods(wanted: int, cluster: Cluster, cause: str | None, cure: str | None) -> None:
    cluster = cluster.with_added([OF_DRIVER, make_claim("new", request("r", wanted))])
    decision = decide(claiming_pod("new"), cluster)
    found = diagnose(decision)
    if cause is None:
        assert all(one.rule != "devices-of-finished-pods" for one in found)
        return
    assert [one.cause for one in found] == [cause]
    assert cures(decision)[0] == cure


AGENT = ("apps/v1", "DaemonSet", "gpu-dra-plugin")
PLUGIN = ("apps/v1", "DaemonSet", "gpu-feature-discovery")
SICK = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
CRASHED = make_pod("gpu-dra-x", namespace="dra", node="a", owner=AGENT, status=SICK)
RUNNING = make_pod("gpu-dra-x", namespace="dra", node="a", owner=AGENT)
OTHER = make_pod("gpu-fd-x", namespace="dra", node="a", owner=PLUGIN)
HALF = make_slice("half", make_device("gpu-0"), node="a", generation=2, slices=2)
OLD = make_slice("old", make_device("gpu-0"), node="a", generation=1)
FULL = make_slice("full", make_device("gpu-0"), node="b")
PART = "pool gpu.example.com/a is incomplete (1 of 2 ResourceSlices of its newest generation) on a"
REST = "; b has no gpu devices, claim default/new wants 1"


@pytest.mark.parametrize(
    ("objects", "pods", "cause", "cure"),
    [
        pytest.param(
            [HALF, OLD],
            [CRASHED, OTHER],
            f"{PART}: its pod dra/gpu-dra-x is not ready{REST}",
            "repair pod dra/gpu-dra-x on a: look at its log and its events (untried)",
            id="the driver's pod crashes",
        ),
        pytest.param(
            [HALF],
            [RUNNING, OTHER],
            f"{PART}: its pod dra/gpu-dra-x runs{REST}",
            "restart pod dra/gpu-dra-x on a (untried)",
            id="the driver's pod runs",
        ),
        pytest.param(
            [HALF],
            [make_pod("web", node="a")],
            PART + REST,
            "repair the pod of driver gpu.example.com on a (untried)",
            id="no such pod is known",
        ),
        pytest.param(
            [FULL, make_claim("other", holds=["b/gpu-0"], node="b", reserved=["web"])],
            [CRASHED, make_pod("web", node="b")],
            "driver gpu.example.com publishes no devices on a: its pod dra/gpu-dra-x is not ready; b has 0 "
            "usable gpu devices (1 there, 1 in use), claim default/new wants 1",
            "repair pod dra/gpu-dra-x on a: look at its log and its events (untried)",
            id="no slice of the node",
        ),
        pytest.param(
            [],
            [CRASHED],
            "no ResourceSlice is of the driver gpu.example.com, which DeviceClass gpu selects, and its pod "
            "dra/gpu-dra-x is not ready on a",
            "repair pod dra/gpu-dra-x on a: look at its log and its events (untried)",
            id="no slice at all",
        ),
    ],
)
def test_devices_that_are_not_published(objects: list[ApiObject], pods: list[Pod], cause: str, cure: str) -> None:
    cluster = cluster_of(OF_DRIVER, make_claim("new"), *objects, pods=pods)
    decision = decide(claiming_pod("new"), cluster)
    assert diagnose(decision)[0].cause == cause
    assert cures(decision)[0] == cure
