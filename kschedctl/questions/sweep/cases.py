"""The cases of a plan: the combinations of the axes' values, by number."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any, Final, Literal

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.axis import Axis
from kschedctl.questions.sweep.plan import Random

#: The maximum number of cases of a plan.
MOST_CASES: Final = 1_000_000


class Cases:
    """The cases, numbered from 1. A case is computed on access.

    Parameters
    ----------
    axes : sequence of Axis
        The axes, each with at least one value. The values of the last axis vary fastest.
    combine : str or Random
        The combination of the values: ``product``, ``zip`` or a random sample of the product.

    Raises
    ------
    InputError
        If there are more than 1,000,000 cases, ``zip`` gets axes of different lengths, or the sample is larger than the
        product.

    Examples
    --------
    >>> cases = Cases([Axis("n", "seed", (1, 2)), Axis("z", "fail-zone", (None, "a", "b"))], "product")
    >>> len(cases), cases[2]
    (6, {'n': 1, 'z': 'a'})
    """

    def __init__(self, axes: Sequence[Axis], combine: Literal["product", "zip"] | Random) -> None:
        self.axes = tuple(axes)
        self._combine = combine
        self._n_all = prod(len(axis.values) for axis in axes)
        lengths = {axis.name: len(axis.values) for axis in axes}
        if combine == "zip" and len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InputError(f"zip needs axes of the same length: {told}", path="combine")
        if isinstance(combine, Random) and combine.random > self._n_all:
            raise InputError(
                f"{combine.random:,} of {self._n_all:,} combinations cannot be sampled",
                path="combine.random",
                hint="combine: product takes all of them",
            )
        if len(self) > MOST_CASES:
            hint = f"at most {MOST_CASES:,}: combine: {{random: {MOST_CASES}}} takes a sample"
            raise InputError(f"{len(self):,} cases are too many", path="axes", hint=hint)

    def __len__(self) -> int:
        if isinstance(self._combine, Random):
            return self._combine.random
        return len(self.axes[0].values) if self._combine == "zip" else self._n_all

    def __getitem__(self, number: int) -> dict[str, Any]:
        if not 1 <= number <= len(self):
            raise IndexError(number)
        at = number - 1
        if self._combine == "zip":
            return {axis.name: axis.values[at] for axis in self.axes}
        if isinstance(self._combine, Random):
            at = self._drawn[at]
        values = []
        for axis in reversed(self.axes):
            at, index = divmod(at, len(axis.values))
            values.append((axis.name, axis.values[index]))
        return dict(reversed(values))

    @cached_property
    def _drawn(self) -> list[int]:
        assert isinstance(self._combine, Random)
        return sorted(random.Random(self._combine.seed).sample(range(self._n_all), self._combine.random))
