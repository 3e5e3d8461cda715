"""Claims for devices that nobody publishes, and devices on nodes that cannot hold the pod."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.meta import ApiObject
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.scheduler.devices.builders import make_claim, make_class, make_device, make_slice, request

GPU = "gpu.nvidia.com"
CLAIMS: list[dict[str, Any]] = [{"name": "gpu", "resourceClaimName": "claim"}]
OF_DRIVER = make_class(GPU, f'device.driver == "{GPU}"')


@pytest.mark.parametrize(
    ("objects", "cause", "cure"),
    [
        pytest.param(
            [OF_DRIVER, make_slice("s", node="a", driver="compute-domain.nvidia.com")],
            f"no ResourceSlice is of the driver {GPU}, which DeviceClass {GPU} selects; those of "
            "compute-domain.nvidia.com (1 node) exist",
            f"switch on the part of the driver that publishes devices of {GPU}",
            id="another part of the driver runs",
        ),
        pytest.param(
            [OF_DRIVER],
            f"no ResourceSlice is of the driver {GPU}, which DeviceClass {GPU} selects, and no other driver publishes "
            "any",
            f"install the driver that publishes devices of {GPU}",
            id="no driver runs",
        ),
        pytest.param(
            [make_class("gpu.nvidia.org")],
            f"claim default/claim requests DeviceClass {GPU}, which does not exist; there is gpu.nvidia.org",
            f"install the driver that DeviceClass {GPU} belongs to; its chart creates the class",
            id="no such class",
        ),
    ],
)  # fmt: skip
def test_nobody_publishes(objects: list[ApiObject], cause: str, cure: str) -> None:
    claim = make_claim("claim", request("r", of=GPU))
    decision = decide(make_pod(resourceClaims=CLAIMS), make_cluster([make_node("a")], [], claim, *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


def test_the_right_name_of_the_class() -> None:
    claim = make_claim("claim", request("r", of="gpu.nvidai.com"))
    objects = (claim, OF_DRIVER, make_slice("s", node="a", driver=GPU))
    decision = decide(make_pod(resourceClaims=CLAIMS), make_cluster([make_node("a")], [], *objects))
    assert suggest(decision).ranked[0].summary == f"DeviceClass {GPU} instead of gpu.nvidai.com in claim default/claim"


def test_the_node_with_devices_is_full() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c")]
    objects = (make_claim("claim", request("r", of=GPU)), OF_DRIVER, make_slice("s", node="a", driver=GPU))
    cluster = make_cluster(nodes, [make_pod("web", node="a", requests={"cpu": "4"})], *objects)
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}, resourceClaims=CLAIMS), cluster))
    assert found.cause == (
        "a has 0 of 4 cpu free, the pod wants 1 cpu; 2 other nodes have no usable devices for the claims"
    )


def test_all_devices_are_in_use() -> None:
    holding: dict[str, Any] = {"holds": ["a/gpu-0"], "node": "a", "reserved": ["train"], "result": {"driver": GPU}}
    held = make_claim("other", request("r", of=GPU), **holding)
    objects = (make_claim("claim", request("r", of=GPU)), held, OF_DRIVER, make_slice("s", node="a", driver=GPU))
    cluster = make_cluster([make_node("a"), make_node("b")], [make_pod("train", node="a")], *objects)
    (found,) = diagnose(decide(make_pod(resourceClaims=CLAIMS), cluster))
    assert found.cause == (
        f"all matching devices of DeviceClass {GPU} on 1 node are in use, held by 1 by claim default/other of train; "
        "1 other node has none"
    )


@pytest.mark.parametrize(
    ("devices", "cause"),
    [
        pytest.param(
            {"a": 1, "b": 3},
            "all 3 nodes have too few usable gpu devices: claim default/claim wants 4, b comes closest with 3"
            " (3 there)",
            id="the closest node is named",
        ),
        pytest.param({"b": 3}, "b has 3 usable gpu devices (3 there), claim default/claim wants 4", id="one node"),
    ],
)
def test_too_few_devices(devices: dict[str, int], cause: str) -> None:
    names = "abc" if len(devices) > 1 else "b"
    slices = [make_slice(name, *(make_device(f"gpu-{i}") for i in range(n)), node=name) for name, n in devices.items()]
    objects = (make_claim("claim", request("r", 4)), make_class(), *slices)
    decision = decide(make_pod(resourceClaims=CLAIMS), make_cluster([make_node(name) for name in names], [], *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
