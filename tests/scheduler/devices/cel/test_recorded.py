import json
from typing import Any

import msgspec
import pytest

from kschedctl.objects.device import Device
from kschedctl.objects.releases.rules import DEVICES_1_36
from kschedctl.scheduler.devices.cel import environment
from kschedctl.scheduler.devices.cel.syntax import Message
from kschedctl.scheduler.devices.selectors import Selector
from tests.paths import ROOT

SELECTORS = ROOT / "fixtures" / "selectors"
RECORDED = SELECTORS / "v1.36.jsonl"
LIBRARIES = SELECTORS / "v1.36-libraries.jsonl"
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
#: cel-go takes what cannot be compared for equal within lists.
LIST_OF_ADDRESSES = "[ip('1.1.1.1')] == [device.attributes['gpu.example.com'].model]"


def _recorded() -> list[Any]:
    lines = map(json.loads, RECORDED.read_text().splitlines())
    return [pytest.param(line["expression"], line["answer"], id=line["expression"]) for line in lines]


@pytest.mark.parametrize(("expression", "answer"), _recorded())
def test_selectors_answer_as_the_scheduler_does(expression: str, answer: bool | str) -> None:
    selector = Selector(expression, DEVICES_1_36)
    assert selector.not_modelled == ""
    assert (selector.answer(DRIVER, DEVICE) == answer) is (expression not in OTHER_WORDS)


def _of_libraries() -> list[Any]:
    return list(map(json.loads, LIBRARIES.read_text().splitlines()))


def _is_not_modelled(expression: str) -> bool:
    """Addresses as texts, and types of addresses as values."""
    return any(part in expression for part in ("string(ip(", "string(cidr(", "net.IP"))


def test_libraries_answer_as_the_scheduler_does() -> None:
    """Literals that are wrong are refused by an API server, so that they are worded otherwise."""
    others = {}
    for line in _of_libraries():
        selector = Selector(line["expression"], DEVICES_1_36)
        assert bool(selector.not_modelled) is _is_not_modelled(line["expression"]), line["expression"]
        answer = selector.answer(DRIVER, DEVICE)
        if not selector.not_modelled and answer != line["answer"]:
            others[line["expression"]] = line["answer"]
    literals = {expression for expression, answer in others.items() if " invalid " in str(answer)}
    assert others.keys() - literals == {LIST_OF_ADDRESSES}
    assert {literal.partition("(")[0] for literal in literals} == {"duration", "timestamp"}


def test_costs_are_those_of_the_scheduler() -> None:
    """But for conversions of conversions of constants, which are worked out beforehand."""
    different = {}
    n_compared = 0
    for line in _of_libraries():
        selector = Selector(line["expression"], DEVICES_1_36)
        if isinstance(line["answer"], str) or selector.not_modelled:
            continue
        n_compared += 1
        cost = selector.cost(DRIVER, DEVICE)
        if cost != line["cost"]:
            different[line["expression"]] = cost - line["cost"]
    assert n_compared > 500
    assert set(different.values()) <= {1, -1}
    constant = ("string(duration(", "string(timestamp(", "int(duration(", "int(timestamp(", "type(duration(", "dyn(")
    assert [own for own in different if own != LIST_OF_ADDRESSES and not any(text in own for text in constant)] == []


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        pytest.param(f"{list(range(99))}.all(x, {list(range(99))}.all(y, x + y >= 0))", True, id="some 70,000"),
        pytest.param(
            f"cel.bind(l, {list(range(80))}, l.all(x, l.all(y, l.all(z, x + y + z >= 0))))",
            "CEL runtime error: operation cancelled: actual cost limit exceeded",
            id="more than 1,000,000",
        ),
    ],
)
def test_an_evaluation_ends_at_the_limit_of_its_cost(expression: str, answer: bool | str) -> None:
    assert Selector(expression, DEVICES_1_36).answer(DRIVER, DEVICE) == answer


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param('format.named("uuid").hasValue()', "format() in the selector", id="named formats"),
        pytest.param('string(ip("::1")) == "::1"', "string() of an address in the selector", id="addresses as texts"),
        pytest.param("[1, 2].all(i, v, v > i)", "all() in the selector", id="macros with two variables"),
        pytest.param("google.protobuf.Int32Value{value: 1} == 1", "the message google.protobuf", id="messages"),
    ],
)
def test_what_is_not_modelled_is_said_and_matches_nothing(expression: str, said: str) -> None:
    selector = Selector(expression, DEVICES_1_36)
    assert selector.not_modelled.startswith(said)
    assert selector.answer(DRIVER, DEVICE) is False


def test_an_error_is_shown_in_the_line_that_it_is_in() -> None:
    with pytest.raises(environment.CompileError) as caught:
        environment.check('device.driver == "x" &&\n  device.nosuch')
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:2:9: undefined field 'nosuch'\n |   device.nosuch\n | ........^"
    )


@pytest.mark.parametrize(
    ("data", "number", "values"),
    [
        pytest.param(b"\x08\x96\x01", 1, [150], id="a number of two bytes"),
        pytest.param(b"\x08\x01\x08\x02", 1, [1, 2], id="a repeated number"),
        pytest.param(b"\x0a\x02\x03\x04", 1, [3, 4], id="packed numbers"),
        pytest.param(b"\x10\x05", 1, [], id="another field"),
    ],
)
def test_integers(data: bytes, number: int, values: list[int]) -> None:
    assert Message(data).integers(number) == values


def test_negative_numbers_take_ten_bytes() -> None:
    assert Message(b"\x08" + b"\xff" * 9 + b"\x01").signed(1) == -1


def test_text_messages_and_fixed_numbers() -> None:
    message = Message(b"\x12\x02hi\x1a\x03\x12\x01x\x21\x00\x00\x00\x00\x00\x00\xf8\x3f")
    assert (message.text(2), message.message(3).text(2), len(message.data(4))) == ("hi", "x", 8)
