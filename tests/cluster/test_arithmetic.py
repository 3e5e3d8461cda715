from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.cluster.arithmetic import round_half_away


@given(st.integers(-(10**6), 10**6), st.sampled_from([0.0, 0.25, 0.5, 0.75]))
def test_halves_go_away_from_zero(whole: int, fraction: float) -> None:
    expected = whole + (fraction >= 0.5 if whole >= 0 else fraction > 0.5)
    assert round_half_away(np.array([whole + fraction])).tolist() == [expected]
