from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.rules import DEVICES_1_36
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.scheduler.devices.places import claim_of_class, places_of
from tests.builders import make_cluster, make_node
from tests.scheduler.devices.builders import either, make_claim, make_class, make_device, make_slice, request

NODES = "abcd"
TWO = [make_device("x"), make_device("y")]
BIG = 'device.attributes["gpu.example.com"].big'


def shown(claim: Any, *objects: ApiObject) -> list[str]:
    """``NODES: devices`` or ``NODES: refusal (reasons)``, a line per place."""
    cluster = make_cluster([make_node(name) for name in NODES], [], claim, *objects)
    lines = []
    for place in places_of(claim, Inventory(cluster, DEVICES_1_36)):
        nodes = "".join(NODES[row] for row in place.rows)
        given = " ".join(
            f"{r.request}={r.pool}/{r.device}" for one in place.allocations for r in one.result.devices.results
        )
        supply = place.reason.requests[0] if place.reason is not None else None
        counts = f" ({supply.here} here, {supply.matching} match, {supply.free} free)" if supply is not None else ""
        lines.append(f"{nodes}: {given or place.refusal}{counts}")
    return lines


@pytest.mark.parametrize(
    ("claim", "objects", "expected"),
    [
        pytest.param(
            make_claim("c", request("r", 2)),
            [make_slice("s-b", *TWO, node="b"), make_slice("s-c", *TWO, node="c"), make_slice("s-d", node="d")],
            [
                "bc: r=b/x r=b/y",
                "a: cannot allocate all claims (0 here, 0 match, 0 free)",
                "d: cannot allocate all claims (1 here, 1 match, 1 free)",
            ],
            id="nodes that fare alike stand together, with the devices of the first",
        ),
        pytest.param(
            make_claim("c", request("r")),
            [
                make_slice("s-b", *TWO, node="b"),
                make_slice("s-c", *TWO, node="c"),
                make_claim("held", holds=["b/x"], node="b"),
            ],
            ["bc: r=b/y", "ad: cannot allocate all claims (0 here, 0 match, 0 free)"],
            id="also where one of them has others free",
        ),
        pytest.param(
            make_claim("c", either("r", request("big", 1, BIG), request("any"))),
            [
                make_slice("s-a", make_device("x", big=False), node="a"),
                make_slice("s-b", make_device("x", big=True), node="b"),
            ],
            ["a: r/any=a/x", "b: r/big=b/x", "cd: cannot allocate all claims (0 here, 0 match, 0 free)"],
            id="not where they get other alternatives",
        ),
        pytest.param(
            make_claim("c", request("r"), holds=["b/x"], node="b"),
            [make_slice("s-b", *TWO, node="b")],
            ["b: r=b/x", "acd: its devices are for other nodes"],
            id="a claim that has its devices",
        ),
        pytest.param(
            make_claim("c", request("r", 1, "device.driver == 7")),
            [make_slice("s-b", node="b")],
            [
                "acd: cannot allocate all claims (0 here, 0 match, 0 free)",
                "b: claim default/c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:15: found no "
                "matching overload for '_==_' applied to '(string, int)'\n | device.driver == 7\n | ..............^",
            ],
            id="an error where there are devices to look at",
        ),
    ],
)
def test_where_a_claim_can_be_used(claim: Any, objects: list[ApiObject], expected: list[str]) -> None:
    assert shown(claim, make_class(), *objects) == expected


def test_one_device_of_a_class() -> None:
    slices = [make_slice("s-b", *TWO, node="b"), make_slice("s-c", node="c")]
    assert shown(claim_of_class("gpu"), make_class(), *slices)[0] == "bc: device=b/x"
