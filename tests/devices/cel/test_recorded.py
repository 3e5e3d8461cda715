from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.api.device import Device
from kschedctl.devices.selectors import Selector

RECORDED = Path(__file__).parents[3] / "fixtures" / "selectors" / "v1.36.jsonl"
DRIVER = "gpu.example.com"
DEVICE = msgspec.convert(
    {
        "name": "gpu-0",
        "attributes": {
            "model": {"string": "a100"},
            "index": {"int": 1},
            "healthy": {"bool": True},
            "driverVersion": {"version": "1.2.3"},
            "gpu.example.com/serial": {"string": "x"},
            "example.org/numa": {"int": 0},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
    Device,
)
#: An API server refuses all of these when the claim or class is created; the scheduler words them otherwise.
OTHER_WORDS = {
    'device.attributes["gpu.example.com"].model.matches("(")': "patterns are looked at before the evaluation",
    '"a".matches("(")': "likewise",
    'device.capacity["gpu.example.com"].memory.sign() == 1': "a function taken as a method",
    'int("x") == 1': "constants are worked out before the evaluation",
    '[1, "a"] == [1, "a"]': "the elements of a list must be of one type",
}


def _recorded() -> list[Any]:
    lines = map(json.loads, RECORDED.read_text().splitlines())
    return [pytest.param(line["expression"], line["answer"], id=line["expression"]) for line in lines]


@pytest.mark.parametrize(("expression", "answer"), _recorded())
def test_selectors_answer_as_the_scheduler_does(expression: str, answer: bool | str) -> None:
    selector = Selector(expression, sees_multiple_allocations=True)
    assert selector.not_modelled == ""
    assert (selector.answer(DRIVER, DEVICE) == answer) is (expression not in OTHER_WORDS)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param('isIP("10.0.0.1")', "isIP() in the selector", id="addresses"),
        pytest.param("[1, 2].all(i, v, v > i)", "all() in the selector", id="macros with two variables"),
        pytest.param("google.protobuf.Int32Value{value: 1} == 1", "the message google.protobuf", id="messages"),
    ],
)
def test_what_is_not_modelled_is_said_and_matches_nothing(expression: str, said: str) -> None:
    selector = Selector(expression, sees_multiple_allocations=True)
    assert selector.not_modelled.startswith(said)
    assert selector.answer(DRIVER, DEVICE) is False
