from decimal import ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.core import QuantityText
from kschedctl.objects.quantity import (
    NANO,
    Amount,
    QuantityError,
    QuantityFormat,
    forms,
    milli_value,
    parse_amounts,
    parse_quantity,
    value,
)
from tests.reference.quantity import SUFFIXES, amount, rounded_up

MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("2", 2 * NANO, id="a number"),
        pytest.param(2, 2 * NANO, id="an integer"),
        pytest.param(0.5, NANO // 2, id="a float"),
        pytest.param("500m", NANO // 2, id="milli"),
        pytest.param("100u", 100_000, id="micro"),
        pytest.param("7n", 7, id="nano"),
        pytest.param("1k", 1000 * NANO, id="kilo"),
        pytest.param("1M", 10**6 * NANO, id="mega"),
        pytest.param("1Ki", 1024 * NANO, id="kibi"),
        pytest.param("1.5Gi", 3 * 2**29 * NANO, id="a fraction of a gibi"),
        pytest.param("1e3", 1000 * NANO, id="an exponent"),
        pytest.param("1E3", 1000 * NANO, id="a capital exponent"),
        pytest.param("1E", 10**18 * NANO, id="exa, not an exponent"),
        pytest.param(f"1{'0' * 100}e-100", NANO, id="a negative exponent for 101 digits"),
        pytest.param(f"0.{'0' * 99}1e100", NANO, id="an exponent for 100 decimals"),
        pytest.param(f"1{'0' * 100}e-9999", 1, id="less than a nano-unit"),
        pytest.param("0e9999", 0, id="nothing, however large the exponent"),
        pytest.param("15e-1", 3 * NANO // 2, id="a negative exponent"),
        pytest.param(".5", NANO // 2, id="no digit before the point"),
        pytest.param("5.", 5 * NANO, id="no digit after it"),
        pytest.param("+1", NANO, id="a plus"),
        pytest.param("-1", -NANO, id="a minus"),
        pytest.param("", None, id="nothing"),
        pytest.param("0.1n", 1, id="less than a nano is rounded up"),
        pytest.param("-0.1n", -1, id="away from zero"),
        pytest.param("8Ei", MAX * NANO, id="binary quantities end at the largest int64"),
    ],
)
def test_forms(text: QuantityText, nanos: int | None) -> None:
    if nanos is None:
        with pytest.raises(QuantityError):
            parse_quantity(text)
    else:
        assert parse_quantity(text) == nanos


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("two", '"two" is not a quantity', id="a word"),
        pytest.param("1.2.3", '"1.2.3" is not a quantity', id="two points"),
        pytest.param("1 Gi", '"1 Gi" is not a quantity', id="a space inside"),
        pytest.param("1gi", '"1gi" is not a quantity', id="a wrong suffix"),
        pytest.param("1e", '"1e" is not a quantity', id="an exponent without digits"),
        pytest.param("1e1.5", '"1e1.5" is not a quantity', id="a broken exponent"),
        pytest.param("0x10", '"0x10" is not a quantity', id="hexadecimal"),
        pytest.param("\u0661", '"\u0661" is not a quantity', id="digits of other scripts"),
        pytest.param(True, "true is not a quantity", id="a boolean"),
        pytest.param(float("nan"), '"nan" is not a quantity', id="no number"),
    ],
)
def test_refused(text: QuantityText, problem: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity") as caught:
        parse_quantity(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        pytest.param("1n", 1, 1, id="the least is one of any unit"),
        pytest.param("1.0001", 2, 1001, id="up"),
        pytest.param("-1.0001", -2, -1001, id="away from zero"),
        pytest.param("0", 0, 0, id="zero"),
        pytest.param("9E", 9 * 10**18, 0, id="what no int64 holds is zero"),
        pytest.param("9e30", 0, 0, id="however large"),
    ],
)
def test_units(text: str, whole: int, milli: int) -> None:
    assert value(parse_quantity(text)) == whole
    assert milli_value(parse_quantity(text)) == milli


decimals = st.decimals(0, 10**6, places=4, allow_nan=False)
suffixes = st.sampled_from(sorted(SUFFIXES))


@given(decimals, suffixes)
def test_equals_the_fraction_that_is_meant(number: Decimal, suffix: str) -> None:
    text = f"{number}{suffix}"
    nanos = min(rounded_up(amount(text) * NANO), MAX * NANO if suffix.endswith("i") else 10**40)
    assert parse_quantity(text) == nanos
    assert parse_quantity(f"-{text}") == -nanos


@given(decimals, st.integers(-12, 12))
def test_exponents_equal_decimal_arithmetic(number: Decimal, exponent: int) -> None:
    expected = number.scaleb(exponent).quantize(Decimal("1e-9"), rounding=ROUND_UP)
    assert parse_quantity(f"{number}e{exponent}") == int(expected.scaleb(9))


@given(st.integers(0, 10**24))
def test_rounding_is_up(nanos: int) -> None:
    whole = rounded_up(Fraction(nanos, NANO))
    assert value(nanos) == whole
    assert milli_value(nanos) == (0 if nanos > MAX * 10**6 else rounded_up(Fraction(nanos, 10**6)))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("9" * 32_000, id="digits"),
        pytest.param("1" * 200_000 + "x", id="digits and a letter"),
        pytest.param("1." + "1" * 200_000 + "x", id="a fraction and a letter"),
        pytest.param("1e" + "1" * 200_000, id="an exponent"),
        pytest.param("E" * 200_000, id="letters"),
    ],
)
def test_a_text_without_end_is_refused_at_once_and_not_repeated(text: str) -> None:
    with pytest.raises(QuantityError) as raised:
        parse_quantity(text)
    assert len(str(raised.value)) < 300


def test_long_quantities_are_read_exactly_and_printed() -> None:
    text = "1" * 3900
    assert parse_quantity(text) == int(text) * NANO
    assert str(Amount.parse(text)) == text
    assert value(parse_quantity(text)) == 0
    # The pattern is what is slow where it is.
    with pytest.raises(QuantityError):
        parse_quantity("1" * 3999 + "x")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("1", "1"),
        (2, "2"),
        (0.5, "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("100000", "100k"),
        ("1234567", "1234567"),
        ("1500k", "1500k"),
        ("1500000", "1500k"),
        ("10M", "10M"),
        ("0.1G", "100M"),
        ("5E", "5E"),
        ("7n", "7n"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("512", "512"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1025Ki", "1025Ki"),
        ("1e3", "1e3"),
        ("12e2", "1200"),
        ("1E6", "1e6"),
        ("-2Gi", "-2Gi"),
        ("-1500m", "-1500m"),
    ],
)
def test_canonical_form(text: Any, canonical: str) -> None:
    assert str(Amount.parse(text)) == canonical


@given(st.integers(-(10**18), 10**18), st.sampled_from(QuantityFormat))
def test_the_canonical_form_says_the_same(nanos: int, form: QuantityFormat) -> None:
    assert Amount.parse(str(Amount(nanos, form))).nanos == nanos


def test_sums_have_the_form_of_the_first_that_is_not_zero() -> None:
    assert forms([{"cpu": "0", "memory": "1Gi"}, {"cpu": "1e3", "memory": "5M"}]) == {
        "cpu": QuantityFormat.EXPONENT,
        "memory": QuantityFormat.BINARY,
    }


def test_what_is_no_quantity_is_told_with_its_field() -> None:
    with pytest.raises(QuantityError) as error:
        parse_amounts({"cpu": "1", "memory": "lots"}, "spec.hard")
    assert (str(error.value), error.value.path) == ('"lots" is not a quantity', "spec.hard.memory")
