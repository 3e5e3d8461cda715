"""Integer and float arithmetic with Go's semantics where NumPy's differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedctl.common.arrays import Int64Array


def round_half_away(values: NDArray[np.float64]) -> Int64Array:
    """Round to the nearest integer, halves away from zero (Go's ``math.Round``).

    Examples
    --------
    >>> round_half_away(np.array([0.5, 1.5, 2.4, -0.5]))
    array([ 1,  2,  2, -1])
    """
    whole = np.trunc(values)
    return (whole + np.copysign(np.abs(values - whole) >= 0.5, values)).astype(np.int64)


def truncated_divide(dividend: Int64Array, divisor: Int64Array | int) -> Int64Array:
    """Divide, truncating toward zero as Go does, where NumPy floors.

    Negative dividends result from int64 sums and products that overflow, which wrap around in Go as in NumPy.

    Examples
    --------
    >>> truncated_divide(np.array([7, -7]), 2)
    array([ 3, -3])
    """
    floored: Int64Array = dividend // divisor
    inexact = floored * divisor != dividend
    truncated: Int64Array = floored + (inexact & (floored < 0))
    return truncated
