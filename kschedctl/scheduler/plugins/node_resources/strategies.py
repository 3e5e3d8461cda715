"""The scoring strategies of NodeResourcesFit as kernels on arrays.

Each kernel takes the requested amount, including the pod, and the allocatable amount: ndarray of int64, shape
(n_rows,). It returns scores of the same shape. Divisions truncate toward zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kschedctl.common.arrays import Int64Array, round_half_away, truncated_divide
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE
from kschedctl.scheduler.plugins.node_resources.allocation import Allocation

Kernel = Callable[[Int64Array, Int64Array], Int64Array]


def least_allocated(requested: Int64Array, allocatable: Int64Array) -> Int64Array:
    """Return the free share of a node, in percent; 0 if more is requested than allocatable.

    Examples
    --------
    >>> least_allocated(np.array([1000, 5000]), np.array([4000, 4000]))
    array([75,  0])
    """
    free = np.where(requested > allocatable, 0, allocatable - requested)
    return truncated_divide(free * MAX_NODE_SCORE, np.maximum(allocatable, 1))


def most_allocated(requested: Int64Array, allocatable: Int64Array) -> Int64Array:
    """Return the used share of a node, in percent, at most 100.

    Examples
    --------
    >>> most_allocated(np.array([1000, 5000]), np.array([4000, 4000]))
    array([ 25, 100])
    """
    used = np.minimum(requested, allocatable)
    return truncated_divide(used * MAX_NODE_SCORE, np.maximum(allocatable, 1))


def requested_to_capacity_ratio(shape: Sequence[tuple[int, int]]) -> Kernel:
    """Return a kernel that maps the used share to a score by a piecewise linear function.

    Parameters
    ----------
    shape : sequence of (int, int)
        Utilization in percent, ascending, and the score there, 0 to 100.
    """
    utilizations = np.array([utilization for utilization, _ in shape], dtype=np.int64)
    scores = np.array([score for _, score in shape], dtype=np.int64)

    def on_line(percent: Int64Array) -> Int64Array:
        at = np.searchsorted(utilizations, percent)
        right = np.minimum(at, len(shape) - 1)
        left = np.maximum(right - 1, 0)
        run = np.maximum(utilizations[right] - utilizations[left], 1)
        rise = (scores[right] - scores[left]) * (percent - utilizations[left])
        between = scores[left] + truncated_divide(rise, run)
        return np.where((at == 0) | (at == len(shape)), scores[right], between)

    def kernel(requested: Int64Array, allocatable: Int64Array) -> Int64Array:
        over = (allocatable == 0) | (requested > allocatable)
        percent = truncated_divide(requested * MAX_NODE_SCORE, np.maximum(allocatable, 1))
        return on_line(np.where(over, MAX_NODE_SCORE, percent))

    return kernel


def weighted_mean(
    allocations: Sequence[Allocation], weights: Sequence[int], kernel: Kernel, *, only_positive: bool
) -> Int64Array:
    """Return the weighted mean of a kernel's scores over resources.

    Parameters
    ----------
    allocations : sequence of Allocation
        The amounts per resource. A resource does not count on nodes with an allocatable amount of 0.
    weights : sequence of int
        The weights of the resources.
    kernel : callable
        Returns the score of one resource.
    only_positive : bool
        True for RequestedToCapacityRatio: resources with score 0 do not count, and the mean is rounded half away from
        zero in float64. False: the mean is truncated.
    """
    n_rows = len(allocations[0].allocatable)
    total = np.zeros(n_rows, dtype=np.int64)
    weight_sum = np.zeros(n_rows, dtype=np.int64)
    for allocation, weight in zip(allocations, weights, strict=True):
        scores = kernel(allocation.requested, allocation.allocatable)
        counts = allocation.allocatable != 0
        if only_positive:
            counts &= scores > 0
        total += np.where(counts, scores * weight, 0)
        weight_sum += np.where(counts, weight, 0)
    divisor = np.maximum(weight_sum, 1)
    if only_positive:
        return round_half_away(total / divisor)
    return truncated_divide(total, divisor)
