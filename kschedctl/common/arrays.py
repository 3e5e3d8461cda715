"""The array types of the columns, and arithmetic with Go's semantics where NumPy's differ."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

#: int64 of any shape: rows, counts, milli-CPU, bytes.
Int64Array = NDArray[np.int64]
#: bool of any shape.
Mask = NDArray[np.bool_]

# The index spaces. An index has a meaning only within its space, so signatures name the space. To the type checker all
# of these types are int64 arrays.

#: Node rows: indices into ``Cluster.nodes``.
Rows = Int64Array
#: Indices into ``Cluster.pods``.
PodIndices = Int64Array
#: Positions in an overlay. A world is a hypothetical state of one node: world ``w`` concerns the node row
#: ``Overlay.rows[w]``.
Worlds = Int64Array
#: Positions in a table of pods in worlds (``PodsInWorlds``).
Entries = Int64Array

#: Values up to this multiple of the length of their array are looked up in a table, greater ones are sorted.
_TABLE = 16


def numbered(values: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return where each distinct value occurs first, and which one each value is.

    This is what ``np.unique`` returns; small values from 0 on need no sorting.

    Returns: first: the first position of each value, the values ascending; number: the number of the value at each
        position
    """
    if not len(values) or int(values.min()) < 0 or (most := int(values.max())) > _TABLE * len(values):
        _, first, number = np.unique(values, return_index=True, return_inverse=True)
        return first, number
    position = np.full(most + 1, -1, dtype=np.int64)
    position[values[::-1]] = np.arange(len(values) - 1, -1, -1)
    there = position >= 0
    return position[there], (there.cumsum() - 1)[values]


def numbered_together(columns: Iterable[Int64Array], length: int) -> tuple[Int64Array, Int64Array]:
    """Return where each distinct combination of values occurs first, and which one each position has.

    Args:
        length: The length of every column.

    Returns: first and number as in ``numbered``, for the combinations in the order of their values
    """
    key, n_keys = np.zeros(length, dtype=np.int64), 1
    for column in columns:
        if not length or bool((column == column[0]).all()):
            continue
        first, number = numbered(column)
        if n_keys * len(first) > np.iinfo(np.int64).max:
            # There are at most as many combinations as positions.
            found, key = numbered(key)
            n_keys = len(found)
        key, n_keys = key * len(first) + number, n_keys * len(first)
    return numbered(key)


# Integer and float arithmetic with Go's semantics where NumPy's differ.


def round_half_away(values: NDArray[np.float64]) -> Int64Array:
    """Round to the nearest integer, halves away from zero (Go's ``math.Round``).

    >>> round_half_away(np.array([0.5, 1.5, 2.4, -0.5]))
    array([ 1,  2,  2, -1])
    """
    whole = np.trunc(values)
    return (whole + np.copysign(np.abs(values - whole) >= 0.5, values)).astype(np.int64)


def truncated_divide(dividend: Int64Array, divisor: Int64Array | int) -> Int64Array:
    """Divide, truncating toward zero as Go does, where NumPy floors.

    Negative dividends result from int64 sums and products that overflow, which wrap around in Go as in NumPy.

    >>> truncated_divide(np.array([7, -7]), 2)
    array([ 3, -3])
    """
    floored: Int64Array = dividend // divisor
    inexact = floored * divisor != dividend
    truncated: Int64Array = floored + (inexact & (floored < 0))
    return truncated
