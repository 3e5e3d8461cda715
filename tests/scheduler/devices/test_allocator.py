from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.objects.device import DeviceClass, DeviceConstraint, ResourceClaim, ResourceSlice
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.rules import (
    DEVICES_1_34,
    DEVICES_1_35,
    DEVICES_1_36,
    DEVICES_1_37,
    DEVICES_1_37_1,
    DEVICES_1_38,
    DeviceRules,
)
from kschedctl.scheduler.devices.allocator import Allocations, allocate, claim_of_class, new_allocations, places_of
from kschedctl.scheduler.devices.constraints import make_constraint
from kschedctl.scheduler.devices.inventory import Inventory
from tests.builders import make_cluster, make_node
from tests.example_counts import scaled
from tests.reference.devices import first_devices
from tests.scheduler.devices.builders import DRIVER, either, make_claim, make_class, make_device, make_slice, request

RULES = {
    "1.34": DEVICES_1_34,
    "1.35": DEVICES_1_35,
    "1.36": DEVICES_1_36,
    "1.37": DEVICES_1_37,
    "1.37.1": DEVICES_1_37_1,
    "1.38": DEVICES_1_38,
}
A100 = f"device.attributes['{DRIVER}'].model == 'a100'"
EXISTS = [{"operator": "Exists"}]
ILL = [{"key": "ill", "effect": "NoSchedule"}]
NUMA = f"{DRIVER}/numa"
FIRMWARE = f"{DRIVER}/firmware"
LISTED = {"strings": ["a", "b"]}
SHARED: dict[str, Any] = {"allowMultipleAllocations": True}
COUNTERS: Any = {"sharedCounters": [{"name": "mem", "counters": {"gi": {"value": "40"}}}]}


def _allocations(
    claims: Sequence[ResourceClaim],
    *objects: ApiObject,
    rules: DeviceRules = DEVICES_1_36,
    nodes: Sequence[str] = ("node",),
) -> Allocations:
    classes = [make_class(), make_class("a100", A100)] if not any(isinstance(o, DeviceClass) for o in objects) else []
    cluster = make_cluster([make_node(name) for name in nodes], [], *classes, *objects)
    return allocate(claims, Inventory(cluster, rules), np.arange(len(nodes)))


def _found(allocations: Allocations, row: int = 0) -> str:
    """The devices of each claim, ``request=device``; or why there are none."""
    outcome = allocations.outcome_at(row)
    if outcome.is_own:
        return allocations.problem(row)
    if outcome.solution is None:
        return outcome.refusal
    site = allocations.site(row)
    claims = [" ".join(f"{d.request}={site.device(d.device).name}" for d in devices) for devices in outcome.solution]
    return "; ".join(claims)


def _devices(**each: Any) -> list[dict[str, Any]]:
    """Devices gpu-0, gpu-1, ..., with attributes and fields as lists."""
    n_devices = len(next(iter(each.values())))
    return [make_device(f"gpu-{i}", **{key: values[i] for key, values in each.items()}) for i in range(n_devices)]


def _version(text: str) -> dict[str, str]:
    return {"version": text}


HUGE = _version("18446744073709551616.0.0")


def _part(name: str, amount: str, **fields: Any) -> dict[str, Any]:
    uses = [{"counterSet": "mem", "counters": {"gi": {"value": amount}}}]
    return make_device(name, consumesCounters=uses, **fields)


TWO = make_slice("s", *_devices(model=["t4", "a100"]))
CANNOT = "cannot allocate all claims"


@pytest.mark.parametrize(
    ("claim", "objects", "found"),
    [
        pytest.param(make_claim(), [TWO], "r=gpu-0", id="the first device"),
        pytest.param(make_claim("c", request("r", 2)), [TWO], "r=gpu-0 r=gpu-1", id="two of them"),
        pytest.param(make_claim("c", request("r", 3)), [TWO], CANNOT, id="three are not there"),
        pytest.param(make_claim("c", request("r", 1, A100)), [TWO], "r=gpu-1", id="a selector"),
        pytest.param(make_claim("c", request(of="a100")), [TWO], "r=gpu-1", id="the class's selector"),
        pytest.param(make_claim(), [TWO, make_claim("x", holds=["node/gpu-0"])], "r=gpu-1", id="one is in use"),
        pytest.param(
            make_claim("c", request(adminAccess=True)),
            [TWO, make_claim("x", holds=["node/gpu-0"])],
            "r=gpu-0",
            id="admin access does not mind",
        ),
        pytest.param(make_claim("c", request(every=True)), [TWO], "r=gpu-0 r=gpu-1", id="all"),
        pytest.param(
            make_claim("c", request(every=True)),
            [TWO, make_claim("x", holds=["node/gpu-0"])],
            CANNOT,
            id="all, and one is in use",
        ),
        pytest.param(
            make_claim("c", request(every=True, of="none")),
            [TWO, make_class("none", "false")],
            CANNOT,
            id="all of none",
        ),
        pytest.param(
            make_claim("c", request("r", 2), match=NUMA),
            [make_slice("s", *_devices(numa=[0, 1, 1]))],
            "r=gpu-1 r=gpu-2",
            id="of the same value",
        ),
        pytest.param(
            make_claim("c", request("r", 2), distinct=NUMA),
            [make_slice("s", *_devices(numa=[0, 0, 1]))],
            "r=gpu-0 r=gpu-2",
            id="of different values",
        ),
        pytest.param(
            make_claim("c", either("r", request("big", 3), request("small", 1))),
            [TWO],
            "r/small=gpu-0",
            id="the second alternative",
        ),
        pytest.param(
            make_claim("c", request("r"), request("s", 1, A100)), [TWO], "r=gpu-0 s=gpu-1", id="requests in order"
        ),
        pytest.param(
            make_claim("c", request("r"), request("s", 1, "!(" + A100 + ")")),
            [TWO],
            "r=gpu-1 s=gpu-0",
            id="going back to the first request",
        ),
        pytest.param(make_claim(), [make_slice("s", *_devices(taints=[ILL, []]))], "r=gpu-1", id="a taint keeps away"),
        pytest.param(
            make_claim("c", request(tolerations=EXISTS)),
            [make_slice("s", *_devices(taints=[ILL, []]))],
            "r=gpu-0",
            id="unless tolerated",
        ),
        pytest.param(
            make_claim("c", request("r", 1, capacity={"memory": "30Gi"}), request("s", 1, capacity={"memory": "30Gi"})),
            [make_slice("s", make_device("gpu-0", "40Gi", **SHARED), make_device("gpu-1", "40Gi", **SHARED))],
            "r=gpu-0 s=gpu-1",
            id="shares of 30 of 40 Gi: one on each",
        ),
        pytest.param(
            make_claim("c", request("r", 1, capacity={"memory": "10Gi"}), request("s", 1, capacity={"memory": "30Gi"})),
            [make_slice("s", make_device("gpu-0", "40Gi", **SHARED))],
            "r=gpu-0 s=gpu-0",
            id="shares of 10 and 30 Gi: both on one",
        ),
        pytest.param(
            make_claim("c", request("r", 2, capacity={"memory": "10Gi"})),
            [make_slice("s", make_device("gpu-0", "40Gi", **SHARED))],
            CANNOT,
            id="one request takes no device twice",
        ),
        pytest.param(
            make_claim("c", request("r", 1, capacity={"memory": "30Gi"})),
            [
                make_slice("s", make_device("gpu-0", "40Gi", **SHARED)),
                make_claim("x", holds=["node/gpu-0"], result={"shareID": "1", "consumedCapacity": {"memory": "20Gi"}}),
            ],
            CANNOT,
            id="20 of 40 Gi are taken",
        ),
        pytest.param(
            make_claim("c", request("r", 2)),
            [
                make_slice("c", slices=2, **COUNTERS),
                make_slice("s", _part("a", "30"), _part("b", "20"), _part("c", "20"), slices=2),
            ],
            "r=b r=c",
            id="counters: 20 + 20 of 40",
        ),
        pytest.param(
            make_claim("c"),
            [
                make_slice("c", slices=2, **COUNTERS),
                make_slice("s", _part("a", "30"), _part("b", "20"), slices=2),
                make_claim("x", holds=["node/b"]),
            ],
            CANNOT,
            id="counters: 20 of 40 are drawn, 30 wanted",
        ),
        pytest.param(make_claim(), [make_slice("s", slices=2)], CANNOT, id="a pool that lacks a slice is not used"),
        pytest.param(
            make_claim(),
            [make_slice("s", make_device(), make_device())],
            "invalid resource pools were encountered",
            id="nor an invalid one",
        ),
        pytest.param(
            make_claim("c", request("r", 33)),
            [TWO],
            "claim default/c: number of requested devices 33 exceeds the claim limit of 32",
            id="more than an allocation can list",
        ),
        pytest.param(
            make_claim("c", either("r", request("a", 20), request("b", 1)), request("s", 20)),
            [make_slice("s", *(make_device(f"d{i:02}") for i in range(40)))],
            "r/b=d00 " + " ".join(f"s=d{i:02}" for i in range(1, 21)),
            id="alternatives that are too many together are passed over",
        ),
        pytest.param(
            make_claim("c", request(every=True), match=NUMA),
            [make_slice("s", *_devices(numa=[0, 1]))],
            "claim default/c, request r: cannot add device gpu.example.com/node/gpu-1 because a claim constraint would"
            " not be satisfied",
            id="all, and a constraint that one breaks",
        ),
        pytest.param(
            make_claim("c", request(every=True)),
            [make_slice("s", slices=2)],
            "claim default/c, request r: asks for all devices, but resource pool gpu.example.com/node is currently"
            " being updated",
            id="all of a pool that lacks a slice",
        ),
        pytest.param(
            make_claim("c", request("r", 1, "device.nosuch")),
            [TWO],
            "claim default/c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:7: undefined field"
            " 'nosuch'\n | device.nosuch\n | ......^",
            id="a selector that cannot be compiled",
        ),
        pytest.param(
            make_claim("c", request("r", 1, "device.nosuch")), [], CANNOT, id="which nobody looks at without devices"
        ),
        pytest.param(
            make_claim("c", request(of="odd")),
            [TWO, make_class("odd", "true", f"device.attributes['{DRIVER}'].missing")],
            "class odd: selector #1: CEL runtime error: no such key: missing",
            id="a selector of the class that ends in an error",
        ),
    ],
)
def test_what_is_allocated(claim: ResourceClaim, objects: list[ApiObject], found: str) -> None:
    classes = [make_class(), make_class("a100", A100)]
    assert _found(_allocations([claim], *classes, *objects)) == found


@pytest.mark.parametrize(
    ("version", "claim", "objects", "found"),
    [
        pytest.param(
            "1.34", make_claim(), [make_slice("s", slices=2)], "r=gpu-0", id="1.34: incomplete pools are used"
        ),
        pytest.param(
            "1.34",
            make_claim(),
            [make_slice("s", make_device(), make_device())],
            "pool node is invalid: duplicate device name gpu-0",
            id="1.34: an invalid pool is an error",
        ),
        pytest.param(
            "1.34",
            make_claim("c", request("r", 1, capacity={"memory": "1"})),
            [TWO],
            "claim default/c, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            id="1.34: capacity is refused",
        ),
        pytest.param(
            "1.35", make_claim("c", request("r", 1, capacity={"x": "1"})), [TWO], "r=gpu-0", id="1.35: and ignored"
        ),
        pytest.param(
            "1.35",
            make_claim("c", distinct=NUMA),
            [TWO],
            "claim default/c, constraint #0: empty constraint (unsupported constraint type?)",
            id="1.35: distinctAttribute is not known",
        ),
        pytest.param(
            "1.35", make_claim(), [make_slice("s", *_devices(taints=[ILL]))], "r=gpu-0", id="1.35: taints play no part"
        ),
        pytest.param(
            "1.35",
            make_claim(),
            [make_slice("s", *_devices(bindingConditions=[["x"], []]))],
            "r=gpu-1",
            id="1.35: no device that becomes ready later",
        ),
        pytest.param(
            "1.35",
            make_claim("c", either("r", request("none", 9), request("all", every=True))),
            [TWO],
            CANNOT,
            id="1.35: All as the second alternative goes on with the first",
        ),
        pytest.param(
            "1.36",
            make_claim("c", either("r", request("none", 9), request("all", every=True))),
            [TWO],
            "r/all=gpu-0 r/all=gpu-1",
            id="1.36: and stays",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 1, f"device.attributes['{DRIVER}'].missing")),
            [TWO],
            "claim default/c: selector #0 on device gpu.example.com/node/gpu-0: CEL runtime error: no such key:"
            " missing. consider using CEL optional chaining (.? followed by orValue()) or guarding the check with"
            " has() for optional fields",
            id="1.37: errors name the device",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", derivedAttributes=[{"name": "x"}])),
            [TWO],
            "claim default/c, request r: cannot handle request with derived attributes, the feature is disabled",
            id="1.37: derived attributes are refused",
        ),
        pytest.param(
            "1.36",
            make_claim("c", request("r", derivedAttributes=[{"name": "x"}])),
            [TWO],
            "r=gpu-0",
            id="1.36: and not known",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 20), request("s", 13)),
            [TWO],
            "claim default/c: number of requested devices 33 exceeds the claim limit of 32",
            id="1.37: too many devices in all",
        ),
        pytest.param(
            "1.37.1",
            make_claim("c", request("r", 20), either("s", request("a", 40), request("b", 13)), request(of="none")),
            [TWO],
            "claim default/c, request s: adding 13 devices exceeds the claim limit of 32, with 20 already accounted"
            " for",
            id="1.37.1: counted request by request",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 1, "true")),
            [make_slice("s", make_device(firmware=HUGE))],
            "claim default/c: selector #0 on device gpu.example.com/node/gpu-0: CEL runtime error: attribute firmware:"
            ' parse semantic version: strconv.ParseUint: parsing "18446744073709551616": value out of range',
            id="1.37: a version that cannot be parsed fails every selector",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request("r", 1, f"!('firmware' in device.attributes['{DRIVER}'])")),
            [make_slice("s", make_device(firmware=HUGE))],
            "r=gpu-0",
            id="1.38: it does not count as an attribute",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request("r", 1, f"has(device.attributes['{DRIVER}'].firmware)")),
            [make_slice("s", make_device(firmware=HUGE))],
            "claim default/c: selector #0 on device gpu.example.com/node/gpu-0: CEL runtime error: attribute firmware:"
            " value is invalid or its type is not supported by this version",
            id="1.38: it fails the selectors that read it",
        ),
        pytest.param(
            "1.36",
            make_claim("c", request("r", 1, "true")),
            [make_slice("s", make_device(firmware=LISTED))],
            "claim default/c: selector #0: CEL runtime error: attribute firmware: unsupported attribute value",
            id="1.36: a list cannot be read",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 1, f"'b' in device.attributes['{DRIVER}'].firmware")),
            [make_slice("s", make_device(firmware=LISTED))],
            "r=gpu-0",
            id="1.37: a list can be read",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 2), match=FIRMWARE),
            [make_slice("s", *_devices(firmware=[LISTED, LISTED, HUGE, HUGE]))],
            "r=gpu-2 r=gpu-3",
            id="1.37: lists are not equal, and versions are compared as texts",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 2), match=FIRMWARE),
            [make_slice("s", *_devices(firmware=[_version("1.0.0+a"), _version("1.0.0+b")]))],
            CANNOT,
            id="1.37: the build of a version counts",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request("r", 2), match=FIRMWARE),
            [make_slice("s", *_devices(firmware=[_version("1.0.0+a"), _version("1.0.0+b")]))],
            "r=gpu-0 r=gpu-1",
            id="1.38: the build of a version does not count",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request("r", 2), distinct=FIRMWARE),
            [make_slice("s", *_devices(firmware=[_version("1.0.0-a"), LISTED]))],
            "claim default/c, request r: device gpu.example.com/node/gpu-1: unsupported attribute value for"
            " gpu.example.com/firmware",
            id="1.38: a value that cannot be compared is an error",
        ),
        pytest.param(
            "1.37",
            make_claim("c", request("r", 1, capacity={f"{DRIVER}/memory": "1Gi"})),
            [make_slice("s", make_device("gpu-0", "40Gi", **SHARED))],
            CANNOT,
            id="1.37: a capacity with the driver's domain is another one",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request("r", 1, capacity={f"{DRIVER}/memory": "1Gi"})),
            [
                make_slice("s", make_device("gpu-0", "40Gi", **SHARED)),
                make_slice("t", make_device("gpu-0", "40Gi", **SHARED), driver="other.example.com"),
            ],
            "r=gpu-0",
            id="1.38: it is the same one",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request("r", 1, capacity={"memory": "1Gi"})),
            [
                make_slice(
                    "s",
                    make_device(
                        "gpu-0", capacity={"memory": {"value": "9Gi"}, f"{DRIVER}/memory": {"value": "40Gi"}}, **SHARED
                    ),
                ),
                make_claim(
                    "x",
                    holds=["node/gpu-0"],
                    result={"shareID": "1", "consumedCapacity": {"memory": "40Gi", f"{DRIVER}/memory": "39Gi"}},
                ),
            ],
            "r=gpu-0",
            id="1.38: if a capacity has two names, the one with the domain counts",
        ),
        pytest.param(
            "1.37",
            make_claim(),
            [make_slice(), make_claim("x", holds=["node/gpu-0"], result={"shareID": "1"})],
            "r=gpu-0",
            id="1.37: an old share of a device that is not shared does not count",
        ),
        pytest.param(
            "1.38",
            make_claim(),
            [make_slice(), make_claim("x", holds=["node/gpu-0"], result={"shareID": "1"})],
            CANNOT,
            id="1.38: it does",
        ),
        pytest.param(
            "1.38",
            make_claim("c", request(adminAccess=True)),
            [make_slice(), make_claim("x", holds=["node/gpu-0"], result={"shareID": "1"})],
            "r=gpu-0",
            id="1.38: except for admin access",
        ),
    ],
)
def test_releases(version: str, claim: ResourceClaim, objects: list[ApiObject], found: str) -> None:
    assert _found(_allocations([claim], *objects, rules=RULES[version])) == found


@pytest.mark.parametrize(
    ("version", "failed"),
    [
        pytest.param("1.37", [True, False], id="1.37: the cycle ends with an error"),
        pytest.param("1.38", [False, False], id="1.38: the node is rejected, and others are tried"),
    ],
)
def test_all_and_a_pool_that_cannot_be_used(version: str, failed: list[bool]) -> None:
    slices = [make_slice("a", slices=2, node="a"), make_slice("b", make_device(), make_device(), node="b")]
    claim = make_claim("c", request(every=True))
    for node, problem in (("a", "being updated"), ("b", "invalid")):
        allocations = _allocations(
            [claim], *slices, make_slice("o", node="ok"), rules=RULES[version], nodes=[node, "ok"]
        )
        assert [allocations.outcome_at(row).failed for row in range(2)] == failed
        where = f"claim default/c, request r: asks for all devices, but resource pool {DRIVER}/{node}"
        assert [_found(allocations, row) for row in range(2)] == [f"{where} is currently {problem}", "r=gpu-0"]


def test_nodes_that_look_alike_are_searched_once() -> None:
    nodes = [f"n{i}" for i in range(6)]
    slices = [make_slice(f"s-{n}", make_device("gpu-0", uuid=n), make_device("gpu-1", uuid=n), node=n) for n in nodes]
    used = make_claim("x", holds=["n3/gpu-0"])
    allocations = _allocations([make_claim("c", request("r", 2))], *slices, used, nodes=nodes)
    assert [_found(allocations, row) for row in range(6)] == [
        *["r=gpu-0 r=gpu-1"] * 3,
        CANNOT,
        *["r=gpu-0 r=gpu-1"] * 2,
    ]
    assert len(allocations.outcomes) == 2


def test_a_search_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedctl.scheduler.devices.search.MAX_STEPS", 20)
    devices = _devices(numa=list(range(12)))
    claim = make_claim("c", request("r", 3), request("s", 1, "false"), distinct=NUMA)
    allocations = _allocations([claim], make_slice("s", *devices))
    assert allocations.outcomes[0].gave_up
    assert _found(allocations) == "node node: timed out trying to allocate devices"


_device = st.fixed_dictionaries({"model": st.sampled_from(["a100", "t4"]), "numa": st.integers(0, 2)})
_count = st.integers(1, 3)


@settings(max_examples=scaled(150), deadline=None)
@given(
    per_node=st.lists(st.lists(_device, min_size=0, max_size=5), min_size=1, max_size=4),
    counts=st.lists(st.tuples(_count, st.booleans()), min_size=1, max_size=3),
    matched=st.booleans(),
    used=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=4),
    version=st.sampled_from(sorted(RULES)),
)
def test_grouped_and_pruned_search_equals_trying_everything(
    per_node: list[list[dict[str, Any]]],
    counts: list[tuple[int, bool]],
    matched: bool,
    used: set[tuple[int, int]],
    version: str,
) -> None:
    nodes = [f"n{i}" for i in range(len(per_node))]
    slices: list[ResourceSlice] = [
        make_slice(f"s{i}", *(make_device(f"gpu-{k}", **fields) for k, fields in enumerate(devices)), node=nodes[i])
        for i, devices in enumerate(per_node)
        if devices
    ]
    holder = make_claim("x", holds=[f"n{i}/gpu-{k}" for i, k in sorted(used)])
    requests = [request(f"r{i}", count, *([A100] if picky else [])) for i, (count, picky) in enumerate(counts)]
    claim = make_claim("c", *requests, match=NUMA if matched else "")
    allocations = _allocations([claim], *slices, holder, rules=RULES[version], nodes=nodes)
    for row, devices in enumerate(per_node):
        free = [k for k in range(len(devices)) if (row, k) not in used]
        expected = first_devices(devices, free, counts, same="numa" if matched else "")
        shown = CANNOT if expected is None else " ".join(f"r{i}=gpu-{k}" for i, k in expected)
        assert _found(allocations, row) == shown


NODES = "abcd"
PLACES_TWO = [make_device("x"), make_device("y")]
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
            [
                make_slice("s-b", *PLACES_TWO, node="b"),
                make_slice("s-c", *PLACES_TWO, node="c"),
                make_slice("s-d", node="d"),
            ],
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
                make_slice("s-b", *PLACES_TWO, node="b"),
                make_slice("s-c", *PLACES_TWO, node="c"),
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
            [make_slice("s-b", *PLACES_TWO, node="b")],
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
    slices = [make_slice("s-b", *PLACES_TWO, node="b"), make_slice("s-c", node="c")]
    assert shown(claim_of_class("gpu"), make_class(), *slices)[0] == "bc: device=b/x"


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


#: The codes of six devices' values: two of the first, two of the second, one of a third, one without.
CODES = (0, 0, 1, 1, 2, -1)
MATCH = DeviceConstraint(match_attribute="x/a")
DISTINCT = DeviceConstraint(distinct_attribute="x/a")


@pytest.mark.parametrize(
    ("constraint", "rules", "devices", "taken"),
    [
        pytest.param(MATCH, DEVICES_1_36, "012", [True, True, False], id="the same value"),
        pytest.param(MATCH, DEVICES_1_36, "5", [False], id="a device without it"),
        pytest.param(DISTINCT, DEVICES_1_36, "01", [True, False], id="another value than the latest"),
        pytest.param(DISTINCT, DEVICES_1_36, "021", [True, True, True], id="not than those before it"),
        pytest.param(DISTINCT, DEVICES_1_37, "021", [True, True, False], id="1.37: than all"),
        pytest.param(DISTINCT, DEVICES_1_34, "015", [True, True, False], id="1.34: any two differ that have it"),
    ],
)
def test_devices_of_one_request(
    constraint: DeviceConstraint, rules: DeviceRules, devices: str, taken: list[bool]
) -> None:
    made = make_constraint(constraint, CODES, rules)
    assert [made.add("r", "", int(device)) for device in devices] == taken


def test_requests_keep_their_latest_value() -> None:
    made = make_constraint(DISTINCT, CODES, DEVICES_1_36)
    assert [made.add("r", "", 0), made.add("s", "", 2), made.add("t", "", 1)] == [True, True, False]


@pytest.mark.parametrize(
    ("rules", "again"),
    [
        pytest.param(DEVICES_1_36, True, id="1.36: going back forgets the request"),
        pytest.param(DEVICES_1_37, False, id="1.37: only the latest device"),
    ],
)
def test_going_back(rules: DeviceRules, again: bool) -> None:
    made = make_constraint(DISTINCT, CODES, rules)
    made.add("r", "", 0)
    made.add("r", "", 2)
    made.remove("r", "")
    assert made.add("r", "", 1) is again


@pytest.mark.parametrize(
    ("requests", "applies"),
    [((), True), (("r",), True), (("r/sub",), True), (("r/other",), False), (("other",), False)],
)
def test_the_requests_that_a_constraint_is_for(requests: tuple[str, ...], applies: bool) -> None:
    made = make_constraint(DeviceConstraint(requests=requests, match_attribute="x/a"), CODES, DEVICES_1_36)
    assert made.add("r", "sub", 5) is not applies
