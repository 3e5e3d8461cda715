import pytest

from kschedctl.scheduler.devices.cel.syntax import Message


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
