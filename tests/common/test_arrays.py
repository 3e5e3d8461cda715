"""Distinct values are numbered as NumPy does, whether in a table or by sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.arrays import numbered, numbered_together, round_half_away


@given(st.lists(st.integers(-3, 40) | st.integers(0, 10**12), max_size=30))
def test_as_numpy_does(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    first, number = numbered(array)
    _, expected, of_value = np.unique(array, return_index=True, return_inverse=True)
    assert first.tolist() == expected.tolist()
    assert number.tolist() == of_value.tolist()


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2)), max_size=30))
def test_combinations_as_numpy_does(rows: list[tuple[int, int, int]]) -> None:
    array = np.array(rows, dtype=np.int64).reshape(-1, 3)
    first, number = numbered_together(array.T, len(rows))
    _, expected, of_row = np.unique(array, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == expected.tolist()
    assert number.tolist() == of_row.tolist()


def test_combinations_of_more_values_than_int64_has() -> None:
    columns = [np.arange(1000, dtype=np.int64)] * 7
    first, number = numbered_together(columns, 1000)
    assert first.tolist() == number.tolist() == [*range(1000)]


@given(st.integers(-(10**6), 10**6), st.sampled_from([0.0, 0.25, 0.5, 0.75]))
def test_halves_go_away_from_zero(whole: int, fraction: float) -> None:
    expected = whole + (fraction >= 0.5 if whole >= 0 else fraction > 0.5)
    assert round_half_away(np.array([whole + fraction])).tolist() == [expected]
