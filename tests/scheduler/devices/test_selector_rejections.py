"""The number of devices that each selector rejects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import decide, make_cluster, make_node, reason
from tests.scheduler.devices.builders import (
    DRIVER,
    claiming_pod,
    make_claim,
    make_class,
    make_device,
    make_slice,
    request,
)

OWN = f'device.attributes["{DRIVER}"]'
MEMORY = f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("50Gi"))'
THREE = make_slice(
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
    cluster = make_cluster([make_node()], [], make_class("gpu", *of_class), THREE, claim)
    operands: Any = reason(decide(claiming_pod("c"), cluster), "DynamicResources").operands
    assert list(operands.selectors()) == expected
