from typing import Any

import pytest

from kschedctl.objects.releases.rules import DEVICES_1_36
from kschedctl.scheduler.devices.extended_resources import backing_classes, device_totals, new_claim
from kschedctl.scheduler.devices.inventory import Inventory
from tests.builders import GPU, make_cluster, make_container, make_node, make_pod
from tests.scheduler.devices.builders import make_claim, make_class, make_device, make_slice

OLD, NEW = "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "name"),
    [
        pytest.param(
            [make_class("a", resource=GPU, created=OLD), make_class("b", resource=GPU, created=NEW)], "b", id="newer"
        ),
        pytest.param(
            [make_class("b", resource=GPU, created=OLD), make_class("a", resource=GPU, created=OLD)],
            "a",
            id="then by name",
        ),
        pytest.param([make_class("ab", resource=GPU), make_class("a", resource=GPU)], "a", id="the shorter name"),
    ],
)
def test_of_two_classes_for_one_resource_one_counts(classes: list[Any], name: str) -> None:
    found = backing_classes(make_cluster([], [], *classes))
    assert found[GPU].name == name
    assert found[f"deviceclass.resource.kubernetes.io/{classes[0].name}"].name == classes[0].name


def _wants(n_devices: int, **fields: Any) -> dict[str, Any]:
    return make_container(f"c{n_devices}", requests={"cpu": "1", GPU: n_devices}, **fields)


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("init", "containers", "requests"),
    [
        pytest.param([], [_wants(2)], {"container-0-request-1": 2}, id="cpu is request 0"),
        pytest.param(
            [], [_wants(1), _wants(2)], {"container-0-request-1": 1, "container-1-request-1": 2}, id="each its own"
        ),
        pytest.param([_wants(2)], [_wants(3)], {"container-1-request-1": 3}, id="what comes later serves init too"),
        pytest.param(
            [_wants(5), _wants(4)],
            [_wants(3)],
            {"container-0-request-1": 2, "container-2-request-1": 3},
            id="the largest need beyond it: 5 - 3",
        ),
        pytest.param(
            [_wants(1, **SIDECAR), _wants(4)],
            [_wants(3)],
            {"container-0-request-1": 1, "container-1-request-1": 1, "container-2-request-1": 3},
            id="a sidecar before it does not serve it: 4 - 3",
        ),
        pytest.param(
            [],
            [_wants(1) for _ in range(11)],
            {f"container-{i}-request-1": 1 for i in (0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9)},
            id="names sort as text",
        ),
    ],
)
def test_the_claim_for_extended_resources(
    init: list[dict[str, Any]], containers: list[dict[str, Any]], requests: dict[str, int]
) -> None:
    claim = new_claim(make_pod(initContainers=init, containers=containers), [GPU], {GPU: make_class("gpu")})
    found = {request.name: request.exactly.count for request in claim.spec.devices.requests if request.exactly}
    assert list(found.items()) == list(requests.items())


def test_devices_are_counted_for_scoring_whatever_their_pool_is_like() -> None:
    here = "device.attributes['gpu.example.com'].model == 'a100'"
    slices = [
        make_slice("s", make_device("x", model="a100"), make_device("y", model="t4"), node="a", slices=7),
        make_slice("t", make_device("z", model="a100"), pool="p", allNodes=True),
        make_slice("u", make_device("v", nodeName="b", model="a100"), pool="q", perDeviceNodeSelection=True),
    ]
    cluster = make_cluster([make_node("a"), make_node("b")], [], *slices, make_claim(holds=["p/z"]))
    devices, in_use = device_totals(Inventory(cluster, DEVICES_1_36), make_class("c", here))
    assert (devices.tolist(), in_use.tolist()) == ([2, 2], [1, 1])
