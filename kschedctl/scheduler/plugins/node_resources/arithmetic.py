"""The arithmetic of scores by resources, as steps: the utilization of each resource, and the mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kschedctl.objects.resources import format_amount
from kschedctl.scheduler.framework.arithmetic import Arithmetic, Step, sum_expression

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
    """A resource scored on a node.

    Attributes
    ----------
    name : str
        The resource.
    weight : int
        The configured weight.
    requested : int
        The sum of the requests of the node's pods and the pod to place: milli-CPU, bytes or a count.
    allocatable : int
        The node's allocatable amount, in the same unit; 0 if the resource does not count.
    score : int
        The strategy's score for the resource, 0 to 100.
    """

    name: str
    weight: int
    requested: int
    allocatable: int
    score: int

    @property
    def note(self) -> str:
        """The amounts in human-readable units."""
        if not self.allocatable:
            return "does not count: the node offers none, or no pod requests it"
        requested, offered = (format_amount(self.name, n) for n in (self.requested, self.allocatable))
        return f"with this pod {requested} of {offered} are requested"


class StrategyScore(Arithmetic, frozen=True):
    """The score of NodeResourcesFit.

    Attributes
    ----------
    strategy : str
        The scoring strategy.
    resources : tuple of ScoredResource
        The configured resources.
    shape : tuple of (int, int)
        The points of RequestedToCapacityRatio, utilization in percent and score; empty for other strategies.
    score : int
        The weighted mean of the resources' scores.
    """

    strategy: str
    resources: tuple[ScoredResource, ...]
    shape: tuple[tuple[int, int], ...]
    score: int

    def formula(self) -> str:
        """Return the formula of the strategy."""
        return FORMULAS[self.strategy]

    def steps(self) -> Iterator[Step]:
        """Yield the steps of each resource, then the mean."""
        for resource in self.resources:
            if not resource.allocatable:
                yield Step(resource.name, "0", 0, resource.note)
            elif self.strategy == RATIO:
                yield from ratio_steps(
                    resource.name, resource.requested, resource.allocatable, self.shape, resource.score, resource.note
                )
            else:
                yield Step(resource.name, self._expression(resource), resource.score, resource.note)
        ratio = self.strategy == RATIO
        counted = [one for one in self.resources if one.allocatable and (one.score > 0 or not ratio)]
        if not counted:
            yield Step("score", "0", 0)
            return
        total = sum_expression(f"{one.score} * {one.weight}" for one in counted)
        weights = sum_expression(str(one.weight) for one in counted)
        expression = f"round(({total}) / ({weights}))" if ratio else f"({total}) // ({weights})"
        yield Step("score", expression, self.score, "the weighted mean")

    def _expression(self, resource: ScoredResource) -> str:
        requested, allocatable = resource.requested, resource.allocatable
        if self.strategy == "MostAllocated":
            return f"100 * min({requested}, {allocatable}) // {allocatable}"
        return f"100 * ({allocatable} - {requested}) // {allocatable}" if requested <= allocatable else "0"


def ratio_steps(
    name: str, requested: int, capacity: int, shape: Sequence[tuple[int, int]], score: int, note: str
) -> Iterator[Step]:
    """Yield the steps that map a utilization to a score (``strategies.requested_to_capacity_ratio``).

    Parameters
    ----------
    name : str
        The name of the resource.
    requested, capacity : int
        The requested amount and the capacity, in the same unit.
    shape : sequence of (int, int)
        Utilization in percent, ascending, and the score there.
    score : int
        The score at this utilization.
    note : str
        The amounts in words.
    """
    if not capacity or requested > capacity:
        used = 100
        yield Step(f"{name} used", "100", 100, note)
    else:
        used = 100 * requested // capacity
        yield Step(f"{name} used", f"100 * {requested} // {capacity}", used, note)
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
    """The amounts of a resource on a node, without and with the pod to place.

    Attributes
    ----------
    name : str
        The resource.
    allocated : int
        The sum of the requests of the node's pods: milli-CPU, bytes or a count.
    requested : int
        ``allocated`` plus the request of the pod.
    allocatable : int
        The node's allocatable amount, in the same unit; 0 if the resource does not count.
    """

    name: str
    allocated: int
    requested: int
    allocatable: int


class BalanceScore(Arithmetic, frozen=True):
    """The score of NodeResourcesBalancedAllocation.

    Attributes
    ----------
    resources : tuple of BalancedResource
        The configured resources.
    with_pod : int
        The balance with the pod.
    without_pod : int or None
        The balance without the pod; ``None`` in releases before 1.36, which do not compare.
    score : int
        The score.
    """

    resources: tuple[BalancedResource, ...]
    with_pod: int
    without_pod: int | None
    score: int

    def formula(self) -> str:
        """Return the formula of the release."""
        balance = "trunc((1 - deviation of the used shares) * 100)"
        return balance if self.without_pod is None else f"50 + (50 + with - without) // 2 of {balance}"

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the balances, then the score."""
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
