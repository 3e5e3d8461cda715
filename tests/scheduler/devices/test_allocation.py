"""The allocation that the scheduler would write into a ResourceClaim."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.rules import DEVICES_1_34, DEVICES_1_36
from kschedctl.scheduler.devices.allocation import new_allocations
from kschedctl.scheduler.devices.allocator import allocate
from kschedctl.scheduler.devices.inventory import Inventory
from tests.builders import make_cluster, make_node
from tests.scheduler.devices.builders import either, make_claim, make_class, make_device, make_slice, request

ON_B = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]}
SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
RED = {"key": "zone", "operator": "In", "values": ["red"]}


def selector(*requirements: Any) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}


def written(claim: Any, *objects: ApiObject, rules: Any = DEVICES_1_36) -> Any:
    """Return the allocation on node b as in the API, without driver and pool."""
    nodes = [make_node("a"), make_node("b", labels={"disk": "ssd", "zone": "red"})]
    cluster = make_cluster(nodes, [], make_class(), *objects)
    found = allocate([claim], Inventory(cluster, rules), np.array([0, 1]))
    (one,) = new_allocations(found, 1)
    assert not one.stored
    result = msgspec.json.decode(msgspec.json.encode(one.result))
    for device in result["devices"]["results"]:
        del device["driver"], device["pool"]
    return result


@pytest.mark.parametrize(
    ("claim", "slices", "expected"),
    [
        pytest.param(
            make_claim("c", request("r", 2)),
            [make_slice("s", make_device("x"), make_device("y"), node="b")],
            {"devices": {"results": [{"request": "r", "device": "x"}, {"request": "r", "device": "y"}]}}
            | {"nodeSelector": ON_B},
            id="devices of a node are for that node",
        ),
        pytest.param(
            make_claim("c"),
            [make_slice("s", make_device("x"), allNodes=True, pool="p")],
            {"devices": {"results": [{"request": "r", "device": "x"}]}},
            id="those for all nodes have no node selector",
        ),
        pytest.param(
            make_claim("c", request("r", 2)),
            [
                make_slice("s", make_device("x"), nodeSelector=selector(SSD), pool="p"),
                make_slice("t", make_device("y"), nodeSelector=selector(RED, SSD), pool="q"),
            ],
            {"devices": {"results": [{"request": "r", "device": "x"}, {"request": "r", "device": "y"}]}}
            | {"nodeSelector": selector(SSD, RED)},
            id="node selectors add up, each requirement once",
        ),
        pytest.param(
            make_claim("c"),
            [make_slice("s", make_device("x", nodeSelector=selector(SSD)), perDeviceNodeSelection=True, pool="p")],
            {"devices": {"results": [{"request": "r", "device": "x"}]}, "nodeSelector": selector(SSD)},
            id="a device with a node selector of its own",
        ),
        pytest.param(
            make_claim("c"),
            [
                make_slice(
                    "s",
                    make_device("x", bindsToNode=True, bindingConditions=["ready"], bindingFailureConditions=["lost"]),
                    allNodes=True,
                    pool="p",
                )
            ],
            {
                "devices": {
                    "results": [
                        {
                            "request": "r",
                            "device": "x",
                            "bindingConditions": ["ready"],
                            "bindingFailureConditions": ["lost"],
                        }
                    ]
                },
                "nodeSelector": ON_B,
            },
            id="a device that binds to the node, once it is ready",
        ),
        pytest.param(
            make_claim("c", either("r", request("two", 2), request("one", 1, tolerations=[{"operator": "Exists"}]))),
            [make_slice("s", make_device("x"), node="b")],
            {
                "devices": {"results": [{"request": "r/one", "device": "x", "tolerations": [{"operator": "Exists"}]}]},
                "nodeSelector": ON_B,
            },
            id="an alternative, with its tolerations",
        ),
        pytest.param(
            make_claim("c", request("r", 1, adminAccess=True)),
            [make_slice("s", make_device("x"), node="b"), make_claim("d", holds=["b/x"], node="b")],
            {"devices": {"results": [{"request": "r", "device": "x", "adminAccess": True}]}, "nodeSelector": ON_B},
            id="admin access",
        ),
        pytest.param(
            make_claim("c", request("r", 1, capacity={"memory": "1536Mi"})),
            [make_slice("s", make_device("x", "8Gi", allowMultipleAllocations=True), node="b")],
            {
                "devices": {
                    "results": [
                        {
                            "request": "r",
                            "device": "x",
                            "shareID": "default/c/0",
                            "consumedCapacity": {"memory": "1536Mi"},
                        }
                    ]
                },
                "nodeSelector": ON_B,
            },
            id="a share and what it takes",
        ),
    ],
)
def test_allocation(claim: Any, slices: list[ApiObject], expected: Any) -> None:
    assert written(claim, *slices) == expected


def test_releases_without_binding_conditions_do_not_bind_to_the_node() -> None:
    found = written(
        make_claim("c"),
        make_slice("s", make_device("x", bindsToNode=True), allNodes=True, pool="p"),
        rules=DEVICES_1_34,
    )
    assert "nodeSelector" not in found


def test_nothing_where_the_claim_cannot_be_allocated() -> None:
    cluster = make_cluster([make_node("a")], [], make_class())
    found = allocate([make_claim("c")], Inventory(cluster, DEVICES_1_36), np.array([0]))
    assert new_allocations(found, 0) == ()
