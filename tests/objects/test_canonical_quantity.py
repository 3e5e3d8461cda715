"""Amounts and how they are written, by table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.canonical_quantity import Amount, QuantityFormat, forms, parse_amounts
from kschedctl.objects.quantity import QuantityError


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
