"""Scores by resources: requested and allocatable amounts, the strategies of NodeResourcesFit, their arithmetic."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, round_half_away, truncated_divide
from kschedctl.objects.quantity import bounded, scaled_amount
from kschedctl.objects.resources import CPU, MEMORY, PODS, Nanos, RequestRules, format_amount, is_scalar_resource
from kschedctl.scheduler.framework.explanation import Arithmetic, Step, sum_expression
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE

# The requested and allocatable amounts of resources on nodes, on which scoring by resources works.


class Allocation(msgspec.Struct, frozen=True):
    """The amounts of one configured resource on some nodes."""

    #: The node's allocatable amount; 0 if the resource does not count there.
    allocatable: Int64Array
    #: The sum of the requests of the node's pods.
    allocated: Int64Array
    #: ``allocated`` plus the request of the pod to place.
    requested: Int64Array


def requested_amount(requests: Nanos, resource: str, rules: RequestRules) -> int:
    """Return the requested amount of a resource: milli-CPU, bytes or a count."""
    amount = scaled_amount(requests.get(resource, 0), milli=resource == CPU)
    return bounded(amount, saturate=rules.saturate)


def allocations(
    cluster: Cluster, rules: RequestRules, wanted: dict[str, int], rows: Int64Array, *, non_zero: bool
) -> list[Allocation]:
    """Return the amounts of the configured resources on some nodes (upstream ``calculateNodeAllocatableRequest``).

    Args:
        rules: The rules by which requests are counted.
        wanted: The configured resources, in order, and the amount of each that the pod requests.
        non_zero: True if containers without requests for cpu and memory count with default amounts.
    """
    columns = cluster.resources(rules)
    nothing = np.zeros(len(rows), dtype=np.int64)
    out = []
    for resource, amount in wanted.items():
        index = columns.index.get(resource)
        # Extended resources and huge pages that the pod does not request do not count for the score.
        if index is None or (amount == 0 and is_scalar_resource(resource)) or resource == PODS:
            out.append(Allocation(nothing, nothing, nothing))
            continue
        allocatable = columns.allocatable[index][rows]
        allocated = columns.requested[index][rows]
        if non_zero and resource in (CPU, MEMORY):
            allocated = columns.non_zero_requested[0 if resource == CPU else 1][rows]
        offered = allocatable != 0
        requested = allocated + amount
        if rules.saturate:
            requested = np.where((allocated > 0) & (requested < 0), np.iinfo(np.int64).max, requested)
        out.append(Allocation(allocatable, allocated * offered, requested * offered))
    return out


@lru_cache
def spec_only(rules: RequestRules, *, pod_level: bool) -> RequestRules:
    """Return the rules for the pod to place: its status is ignored, because no kubelet reports on it."""
    return msgspec.structs.replace(rules, pod_level=pod_level and rules.pod_level, status=False)


Kernel = Callable[[Int64Array, Int64Array], Int64Array]


def percent(part: Int64Array, whole: Int64Array) -> Int64Array:
    """Return the share of a whole in percent, truncated; amounts above 2^63 / 100 overflow."""
    return truncated_divide(part * MAX_NODE_SCORE, np.maximum(whole, 1))


def exact_percent(part: Int64Array, whole: Int64Array) -> Int64Array:
    """Return the share of a whole in percent, 0 to 100, without overflow (upstream ``scaledFraction``).

    >>> exact_percent(np.array([2**62, -1, 3]), np.array([2**62 + 2**61, 4, 4]))
    array([66,  0, 75])
    """
    part = np.clip(part, 0, np.maximum(whole, 0))
    out = percent(part, whole)
    for i in np.flatnonzero(part > np.iinfo(np.int64).max // MAX_NODE_SCORE).tolist():
        out[i] = int(part[i]) * MAX_NODE_SCORE // int(whole[i])
    return out


def least_allocated(requested: Int64Array, allocatable: Int64Array, share: Kernel = percent) -> Int64Array:
    """Return the free share of a node, in percent; 0 if more is requested than allocatable.

    >>> least_allocated(np.array([1000, 5000]), np.array([4000, 4000]))
    array([75,  0])
    """
    free = np.where(requested > allocatable, 0, allocatable - requested)
    return share(free, allocatable)


def most_allocated(requested: Int64Array, allocatable: Int64Array, share: Kernel = percent) -> Int64Array:
    """Return the used share of a node, in percent, at most 100.

    >>> most_allocated(np.array([1000, 5000]), np.array([4000, 4000]))
    array([ 25, 100])
    """
    return share(np.minimum(requested, allocatable), allocatable)


def requested_to_capacity_ratio(shape: Sequence[tuple[int, int]], share: Kernel = percent) -> Kernel:
    """Return a kernel that maps the used share to a score by a piecewise linear function.

    Args:
        shape: Utilization in percent, ascending, and the score there, 0 to 100.
        share: Returns the used share in percent.
    """
    utilizations = np.array([utilization for utilization, _ in shape], dtype=np.int64)
    scores = np.array([score for _, score in shape], dtype=np.int64)

    def on_line(used: Int64Array) -> Int64Array:
        at = np.searchsorted(utilizations, used)
        right = np.minimum(at, len(shape) - 1)
        left = np.maximum(right - 1, 0)
        run = np.maximum(utilizations[right] - utilizations[left], 1)
        rise = (scores[right] - scores[left]) * (used - utilizations[left])
        between = scores[left] + truncated_divide(rise, run)
        return np.where((at == 0) | (at == len(shape)), scores[right], between)

    def kernel(requested: Int64Array, allocatable: Int64Array) -> Int64Array:
        over = (allocatable == 0) | (requested > allocatable)
        return on_line(np.where(over, MAX_NODE_SCORE, share(requested, allocatable)))

    return kernel


def weighted_mean(
    allocations: Sequence[Allocation], weights: Sequence[int], kernel: Kernel, *, only_positive: bool
) -> Int64Array:
    """Return the weighted mean of a kernel's scores over resources.

    Args:
        allocations: The amounts per resource. A resource does not count on nodes with an allocatable amount of 0.
        kernel: Returns the score of one resource.
        only_positive: True for RequestedToCapacityRatio: resources with score 0 do not count, and the mean is
            rounded half away from zero in float64. False: the mean is truncated.
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


# The arithmetic of scores by resources, as steps: the utilization of each resource, and the mean.

#: The formulas of NodeResourcesFit, by strategy.
FORMULAS: Final = {
    "LeastAllocated": "per resource 100 * (allocatable - requested) // allocatable; the weighted mean",
    "MostAllocated": "per resource 100 * requested // allocatable; the weighted mean",
    "RequestedToCapacityRatio": (
        "per resource the shape's score at 100 * requested // allocatable; the weighted mean of those above 0, rounded"
    ),
}
RATIO: Final = "RequestedToCapacityRatio"


class ScoredResource(msgspec.Struct, frozen=True, rename="camel"):
    """A resource scored on a node."""

    #: The resource.
    name: str
    #: The configured weight.
    weight: int
    #: The sum of the requests of the node's pods and the pod to place: milli-CPU, bytes or a count.
    requested: int
    #: The node's allocatable amount, in the same unit; 0 if the resource does not count.
    allocatable: int
    #: The strategy's score for the resource, 0 to 100.
    score: int

    @property
    def note(self) -> str:
        """The amounts in human-readable units."""
        if not self.allocatable:
            return "does not count: the node offers none, or no pod requests it"
        requested, offered = (format_amount(self.name, n) for n in (self.requested, self.allocatable))
        return f"with this pod {requested} of {offered} are requested"


class StrategyScore(Arithmetic, frozen=True):
    """The score of NodeResourcesFit."""

    #: The scoring strategy.
    strategy: str
    #: The configured resources.
    resources: tuple[ScoredResource, ...]
    #: The points of RequestedToCapacityRatio, utilization in percent and score; empty for other strategies.
    shape: tuple[tuple[int, int], ...]
    #: The weighted mean of the resources' scores.
    score: int

    def formula(self) -> str:
        return FORMULAS[self.strategy]

    def steps(self) -> Iterator[Step]:
        for resource in self.resources:
            requested, allocatable = resource.requested, resource.allocatable
            if self.strategy == RATIO and allocatable:
                yield from ratio_steps(resource.name, requested, allocatable, self.shape, resource.score, resource.note)
                continue
            expression = "0"
            if allocatable and self.strategy == "MostAllocated":
                expression = f"100 * min({requested}, {allocatable}) // {allocatable}"
            elif allocatable and requested <= allocatable:
                expression = f"100 * ({allocatable} - {requested}) // {allocatable}"
            yield Step(resource.name, expression, resource.score if allocatable else 0, resource.note)
        ratio = self.strategy == RATIO
        counted = [one for one in self.resources if one.allocatable and (one.score > 0 or not ratio)]
        if not counted:
            yield Step("score", "0", 0)
            return
        total = sum_expression(f"{one.score} * {one.weight}" for one in counted)
        weights = sum_expression(str(one.weight) for one in counted)
        expression = f"round(({total}) / ({weights}))" if ratio else f"({total}) // ({weights})"
        yield Step("score", expression, self.score, "the weighted mean")


def ratio_steps(
    name: str,
    requested: int,
    capacity: int,
    shape: Sequence[tuple[int, int]],
    score: int,
    note: str,
    *,
    exact: bool = True,
) -> Iterator[Step]:
    """Yield the steps that map a utilization to a score (``requested_to_capacity_ratio``).

    Args:
        requested, capacity: The requested amount and the capacity, in the same unit.
        shape: Utilization in percent, ascending, and the score there.
        exact: True if the share is computed without overflow.
    """
    if not capacity or requested > capacity:
        used = 100
        yield Step(f"{name} used", "100", 100, note)
    else:
        # Where shares are exact, a negative sum counts as 0.
        requested = max(requested, 0) if exact else requested
        used = 100 * requested // capacity
        expression = f"100 * {requested} // {capacity}"
        if not exact and not 0 <= 100 * requested <= np.iinfo(np.int64).max:
            with np.errstate(over="ignore"):
                used = int(percent(np.array([requested]), np.array([capacity]))[0])
            expression, note = str(used), f"{note}; 100 * {requested} in 64 bits, truncated"
        yield Step(f"{name} used", expression, used, note)
    right = next((i for i, (utilization, _) in enumerate(shape) if utilization >= used), len(shape))
    if right == 0 or right == len(shape):
        yield Step(
            name, str(score), score, f"the shape's score {'up to' if right == 0 else 'from'} {shape[-(right > 0)][0]} %"
        )
        return
    (low, at_low), (high, at_high) = shape[right - 1], shape[right]
    expression = f"{at_low} + ({at_high} - {at_low}) * ({used} - {low}) // ({high} - {low})"
    yield Step(name, expression, score, f"the shape goes from {at_low} at {low} % to {at_high} at {high} %")


class BalancedResource(msgspec.Struct, frozen=True, rename="camel"):
    """The amounts of a resource on a node, without and with the pod to place."""

    #: The resource.
    name: str
    #: The sum of the requests of the node's pods: milli-CPU, bytes or a count.
    allocated: int
    #: ``allocated`` plus the request of the pod.
    requested: int
    #: The node's allocatable amount, in the same unit; 0 if the resource does not count.
    allocatable: int


class BalanceScore(Arithmetic, frozen=True):
    """The score of NodeResourcesBalancedAllocation."""

    #: The configured resources.
    resources: tuple[BalancedResource, ...]
    #: The balance with the pod.
    with_pod: int
    #: The balance without the pod; ``None`` in releases before 1.36, which do not compare.
    without_pod: int | None
    score: int

    def formula(self) -> str:
        balance = "trunc((1 - deviation of the used shares) * 100)"
        return balance if self.without_pod is None else f"50 + (50 + with - without) // 2 of {balance}"

    def steps(self) -> Iterator[Step]:
        if self.without_pod is None:
            yield from self._balance("score", [one.requested for one in self.resources], self.with_pod, "")
            return
        with_pod = [one.requested for one in self.resources]
        without_pod = [one.allocated for one in self.resources]
        yield from self._balance("with", with_pod, self.with_pod, "the balance with this pod")
        yield from self._balance("without", without_pod, self.without_pod, "the balance without it")
        yield Step("score", f"50 + (50 + {self.with_pod} - {self.without_pod}) // 2", self.score)

    def _balance(self, name: str, used: Sequence[int], balance: int, note: str) -> Iterator[Step]:
        counted = [(one, amount) for one, amount in zip(self.resources, used, strict=True) if one.allocatable]
        shares = [f"min({amount} / {one.allocatable}, 1)" for one, amount in counted]
        amounts = ", ".join(
            f"{format_amount(one.name, amount)} of {format_amount(one.name, one.allocatable)} {one.name}"
            for one, amount in counted
        )
        note = ": ".join(part for part in (note, amounts) if part)
        if len(counted) < 2:
            yield Step(name, "100", balance, note)
        elif len(counted) == 2:
            yield Step(name, f"trunc((1 - abs(({shares[0]} - {shares[1]}) / 2)) * 100)", balance, note)
        else:
            values = [min(amount / one.allocatable, 1.0) for one, amount in counted]
            mean = f"mean_{name}"
            yield Step(mean, f"({sum_expression(shares)}) / {len(shares)}", sum(values) / len(values))
            squares = sum_expression(f"({share} - {mean}) * ({share} - {mean})" for share in shares)
            yield Step(name, f"trunc((1 - sqrt(({squares}) / {len(shares)})) * 100)", balance, note)
