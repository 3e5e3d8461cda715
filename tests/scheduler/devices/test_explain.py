from collections.abc import Sequence
from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.scheduler.framework.operands import Shortfall
from kschedctl.testing.plugin_checks import check_operands
from tests.builders import decide, make_cluster, make_node, reason
from tests.scheduler.devices.builders import (
    DRIVER,
    claiming_pod,
    either,
    make_claim,
    make_class,
    make_device,
    make_slice,
    request,
)

PLUGIN = "DynamicResources"
A100 = f"device.attributes['{DRIVER}'].model == 'a100'"
ILL = [{"key": "ill", "effect": "NoSchedule"}]
THREE = make_slice(
    "s", *(make_device(f"gpu-{i}", model=model, numa=i) for i, model in enumerate(["a100", "t4", "a100"]))
)
SHARED = make_device("gpu-0", "40Gi", allowMultipleAllocations=True)


def _reason(claims: Sequence[Any], objects: Sequence[ApiObject]) -> Any:
    cluster = make_cluster([make_node()], [], make_class(), *objects, *claims)
    found = reason(decide(claiming_pod(*(claim.name for claim in claims)), cluster), PLUGIN)
    assert found.operands is not None
    check_operands(found.operands)
    return found


@pytest.mark.parametrize(
    ("claim", "objects", "words", "lacking"),
    [
        pytest.param(
            make_claim("c", request("r", 4)),
            [THREE],
            "claim default/c, request r wants 4 gpu, 3 usable (3 here, 3 of the class, 3 match, 3 free)",
            1,
            id="too few",
        ),
        pytest.param(
            make_claim("c", request("r", 3, A100)),
            [THREE],
            "claim default/c, request r wants 3 gpu, 2 usable (3 here, 3 of the class, 2 match, 2 free)",
            1,
            id="too few match",
        ),
        pytest.param(
            make_claim("c", request("r", 3)),
            [THREE, make_claim("x", holds=["node/gpu-0", "node/gpu-1"], reserved=["train"])],
            "claim default/c, request r wants 3 gpu, 1 usable (3 here, 3 of the class, 3 match, 1 free;"
            " held: 2 by claim default/x of train)",
            2,
            id="others hold them",
        ),
        pytest.param(
            make_claim("c"),
            [make_slice("s", make_device(taints=ILL))],
            "claim default/c, request r wants 1 gpu, 0 usable (1 here, 1 of the class, 1 match, 1 free,"
            " 1 tainted with ill:NoSchedule)",
            1,
            id="tainted",
        ),
        pytest.param(
            make_claim("c", request("r", 1, capacity={"memory": "50Gi"})),
            [make_slice("s", SHARED)],
            "claim default/c, request r wants 1 gpu, 0 usable (1 here, 1 of the class, 1 match, 1 free,"
            " 1 without the capacity)",
            1,
            id="without the capacity",
        ),
        pytest.param(
            make_claim("c", request("r", 2), match=f"{DRIVER}/numa"),
            [THREE],
            f"no devices satisfy the constraint matchAttribute {DRIVER}/numa",
            0,
            id="a constraint",
        ),
        pytest.param(
            make_claim("c", request("r", 2), request("s", 2)),
            [THREE],
            "each alone, but not together: claim default/c, request r wants 2 gpu, 3 usable (3 here, 3 of the class, 3 "
            "match, 3 free); claim default/c, request s wants 2 gpu, 3 usable (3 here, 3 of the class, 3 match, "
            "3 free)",
            0,
            id="each by itself, not both",
        ),
        pytest.param(
            make_claim("c", either("r", request("many", 9), request("few", 2)), request("s", 4)),
            [THREE],
            "claim default/c, request s wants 4 gpu, 3 usable (3 here, 3 of the class, 3 match, 3 free)",
            1,
            id="another alternative would do",
        ),
        pytest.param(
            make_claim("c", request(every=True)),
            [],
            "claim default/c, request r wants all gpu, 0 usable (0 here, 0 of the class, 0 match, 0 free)",
            1,
            id="all of none",
        ),
        pytest.param(
            make_claim("c"),
            [make_slice("s", slices=2)],
            "claim default/c, request r wants 1 gpu, 0 usable (0 here, 0 of the class, 0 match, 0 free);"
            " pool gpu.example.com/node is not used: slices are missing",
            1,
            id="of a pool that is not used",
        ),
    ],
)
def test_why_nothing_is_allocated(claim: Any, objects: list[ApiObject], words: str, lacking: int) -> None:
    found = _reason([claim], objects)
    assert found.detail == words
    shortfall = found.operands.shortfall()
    assert (shortfall.lacking if shortfall is not None else 0) == lacking


def test_the_closest_node_is_found_by_what_is_lacking() -> None:
    found = _reason([make_claim("c", request("r", 4))], [THREE])
    assert found.operands.shortfall() == Shortfall("devices of class gpu", 4, 1, 3)
    assert found.data["requests"][0]["free"] == 3


OWN = f'device.attributes["{DRIVER}"]'
MEMORY = f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("50Gi"))'
SELECTOR_REJECTIONS_THREE = make_slice(
    "s",
    make_device("x", "40Gi", model="t4", numa=0),
    make_device("y", "80Gi", model="a100", numa=1),
    make_device("z", "40Gi", numa=1, ok=True),
)


@pytest.mark.parametrize(
    ("of_class", "of_request", "expected"),
    [
        pytest.param([], [], [], id="nothing is turned away"),
        pytest.param([f"{OWN}.numa >= 0"], [], [], id="all pass"),
        pytest.param(
            [f"{OWN}.numa == 1"],
            [MEMORY],
            [
                f"class gpu rejects 1: {DRIVER}/node/x has numa 0; its selector is {OWN}.numa == 1",
                f"request r rejects 1: {DRIVER}/node/z has memory 40Gi; its selector is {MEMORY}",
            ],
            id="the class first, then the request, each of what is left",
        ),
        pytest.param(
            [],
            [f'{OWN}.?model.orValue("none") == "a100"\n  && {MEMORY}'],
            [
                f"request r rejects 2: {DRIVER}/node/x has model t4, memory 40Gi; its selector is "
                f'{OWN}.?model.orValue("none") == "a100" && {MEMORY}'
            ],
            id="several attributes, the expression in one line",
        ),
        pytest.param(
            [],
            [f'{OWN}.?ok.orValue(false) && device.driver == "other"'],
            [
                f"request r rejects 3: {DRIVER}/node/x has driver {DRIVER} and has no ok; its selector is "
                f'{OWN}.?ok.orValue(false) && device.driver == "other"'
            ],
            id="an attribute that the device does not have",
        ),
        pytest.param(
            [],
            ['device.attributes["other.example.com"].?numa.orValue(7) == 0'],
            [
                f"request r rejects 3: {DRIVER}/node/x has no other.example.com/numa; its selector is "
                'device.attributes["other.example.com"].?numa.orValue(7) == 0'
            ],
            id="an attribute of another domain",
        ),
        pytest.param(
            [],
            ["size(device.attributes) > 5"],
            [f"request r rejects 3: such as {DRIVER}/node/x; its selector is size(device.attributes) > 5"],
            id="all attributes together",
        ),
    ],
)
def test_what_is_said(of_class: list[str], of_request: list[str], expected: list[str]) -> None:
    claim = make_claim("c", request("r", 4, *of_request))
    cluster = make_cluster([make_node()], [], make_class("gpu", *of_class), SELECTOR_REJECTIONS_THREE, claim)
    operands: Any = reason(decide(claiming_pod("c"), cluster), "DynamicResources").operands
    assert list(operands.selectors()) == expected
