"""The arithmetic of scores by resources: what is requested of what there is, and the mean of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kschedctl.api.amounts import format_amount
from kschedctl.framework.arithmetic import Arithmetic, Step, added

#: The formulas of NodeResourcesFit, by strategy.
FORMULAS: Final = {
    "LeastAllocated": "per resource 100 * (allocatable - requested) // allocatable; the mean by weight",
    "MostAllocated": "per resource 100 * requested // allocatable; the mean by weight",
    "RequestedToCapacityRatio": (
        "per resource what the shape has for 100 * requested // allocatable; "
        "the mean by weight of those above 0, rounded"
    ),
}
RATIO: Final = "RequestedToCapacityRatio"


class ScoredResource(msgspec.Struct, frozen=True, rename="camel"):
    """One resource on a node.

    Attributes
    ----------
    name : str
        The resource.
    weight : int
        The configured weight.
    requested : int
        What the pods of the node and the pod request: milli-CPU, bytes or a count.
    allocatable : int
        What the node offers, in the same unit; 0 where it does not count.
    score : int
        What the strategy gives for that.
    """

    name: str
    weight: int
    requested: int
    allocatable: int
    score: int

    @property
    def note(self) -> str:
        """The amounts as people read them."""
        if not self.allocatable:
            return "does not count: the node offers none, or nobody asks for it"
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
        The broken line of RequestedToCapacityRatio, utilization and score; empty for the others.
    score : int
        The mean.
    """

    strategy: str
    resources: tuple[ScoredResource, ...]
    shape: tuple[tuple[int, int], ...]
    score: int

    def formula(self) -> str:
        """That of the strategy."""
        return FORMULAS[self.strategy]

    def steps(self) -> Iterator[Step]:
        """Resource by resource, and their mean."""
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
        total = added(f"{one.score} * {one.weight}" for one in counted)
        weights = added(str(one.weight) for one in counted)
        expression = f"round(({total}) / ({weights}))" if ratio else f"({total}) // ({weights})"
        yield Step("score", expression, self.score, "the mean by weight")

    def _expression(self, resource: ScoredResource) -> str:
        requested, allocatable = resource.requested, resource.allocatable
        if self.strategy == "MostAllocated":
            return f"100 * min({requested}, {allocatable}) // {allocatable}"
        return f"100 * ({allocatable} - {requested}) // {allocatable}" if requested <= allocatable else "0"


def ratio_steps(
    name: str, requested: int, capacity: int, shape: Sequence[tuple[int, int]], score: int, note: str
) -> Iterator[Step]:
    """A used share looked up on a broken line (``strategies.requested_to_capacity_ratio``).

    Parameters
    ----------
    name : str
        What is used.
    requested, capacity : int
        The share, in one unit.
    shape : sequence of (int, int)
        Utilization in percent, ascending, and the score there.
    score : int
        What the line has there.
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
    """One resource on a node, without and with the pod.

    Attributes
    ----------
    name : str
        The resource.
    allocated : int
        What the pods of the node request: milli-CPU, bytes or a count.
    requested : int
        The same with the pod.
    allocatable : int
        What the node offers, in the same unit; 0 where it does not count.
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
        The balance without it; ``None`` in releases that do not compare.
    score : int
        The score.
    """

    resources: tuple[BalancedResource, ...]
    with_pod: int
    without_pod: int | None
    score: int

    def formula(self) -> str:
        """That of the release."""
        balance = "trunc((1 - deviation of the used shares) * 100)"
        return balance if self.without_pod is None else f"50 + (50 + with - without) // 2 of {balance}"

    def steps(self) -> Iterator[Step]:
        """The balances, and how they compare."""
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
            yield Step(mean, f"({added(shares)}) / {len(shares)}", sum(values) / len(values))
            squares = added(f"({share} - {mean}) * ({share} - {mean})" for share in shares)
            yield Step(name, f"trunc((1 - sqrt(({squares}) / {len(shares)})) * 100)", balance, note)
