"""Distinct values are numbered as NumPy does, whether in a table or by sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.arrays import numbered, round_half_away


@given(st.lists(st.integers(-3, 40) | st.integers(0, 10**12), max_size=30))
def test_as_numpy_does(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    first, number = numbered(array)
    _, expected, of_value = np.unique(array, return_index=True, return_inverse=True)
    assert first.tolist() == expected.tolist()
    assert number.tolist() == of_value.tolist()


@given(st.integers(-(10**6), 10**6), st.sampled_from([0.0, 0.25, 0.5, 0.75]))
def test_halves_go_away_from_zero(whole: int, fraction: float) -> None:
    expected = whole + (fraction >= 0.5 if whole >= 0 else fraction > 0.5)
    assert round_half_away(np.array([whole + fraction])).tolist() == [expected]
