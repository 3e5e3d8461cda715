import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.duration import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("10s", 10_000_000_000),
        ("+1.5m", 90_000_000_000),
        (".5s", 500_000_000),
        ("1h30m2us", 5_400_000_002_000),
        ("-1µs", -1_000),
        ("-2562047h47m16.854775808s", -(2**63)),
    ],
)
def test_reads_what_go_reads(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text).nanoseconds == nanoseconds


@pytest.mark.parametrize("text", ["", "5", "s", ".s", "1d", "1 s", "1s ", "--1s", "2562047h47m16.854775808s"])
def test_refuses_what_go_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="time: invalid duration"):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (10_000_000, "10ms"),
        (-1_500_000_000, "-1.5s"),
        (60_000_000_000, "1m0s"),
        (3_603_250_000_000, "1h0m3.25s"),
    ],
)
def test_writes_as_go_writes(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_reads_what_it_writes(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))).nanoseconds == nanoseconds
