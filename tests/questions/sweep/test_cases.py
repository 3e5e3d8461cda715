"""Cases: which values come together."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.axis import Axis
from kschedctl.questions.sweep.cases import Cases
from kschedctl.questions.sweep.plan import Random


def axes(*lengths: int) -> list[Axis]:
    return [Axis(f"x{i}", "seed", tuple(range(length))) for i, length in enumerate(lengths)]


def every(cases: Cases) -> list[tuple[Any, ...]]:
    return [tuple(cases[number].values()) for number in range(1, len(cases) + 1)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_product_has_every_value_with_every_other(lengths: list[int]) -> None:
    cases = Cases(axes(*lengths), "product")
    assert every(cases) == list(product(*map(range, lengths)))
    assert list(cases[1]) == [f"x{i}" for i in range(len(lengths))]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 9), st.data())
def test_random_ones_are_different_ones_of_the_product_in_its_order(
    lengths: list[int], seed: int, data: st.DataObject
) -> None:
    whole = list(product(*map(range, lengths)))
    n_drawn = data.draw(st.integers(1, len(whole)))
    drawn = every(Cases(axes(*lengths), Random(random=n_drawn, seed=seed)))
    assert len(drawn) == n_drawn
    assert [case for case in whole if case in drawn] == drawn
    assert drawn == every(Cases(axes(*lengths), Random(random=n_drawn, seed=seed)))


def test_another_seed_draws_others() -> None:
    drawn = [tuple(every(Cases(axes(100, 100), Random(random=10, seed=seed)))) for seed in range(5)]
    assert len(set(drawn)) == 5


def test_zip_takes_the_first_ones_then_the_second_ones() -> None:
    assert every(Cases(axes(3, 3), "zip")) == [(0, 0), (1, 1), (2, 2)]


def test_many_are_not_made_before_they_are_asked_for() -> None:
    cases = Cases(axes(10**5, 10**5, 10**5), Random(random=3))
    assert len(cases) == len(set(every(cases))) == 3


@pytest.mark.parametrize(
    ("lengths", "combine", "path", "problem"),
    [
        ((2, 3), "zip", "combine", "zip needs axes of the same length: x0 has 2, x1 has 3"),
        ((2, 3), Random(random=7), "combine.random", "7 of 6 combinations cannot be sampled"),
        ((1001, 1000), "product", "axes", "1,001,000 cases are too many"),
    ],
)
def test_refused(lengths: tuple[int, ...], combine: Any, path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Cases(axes(*lengths), combine)
    (finding,) = caught.value.findings
    assert (finding.problem, finding.field) == (problem, path)


@pytest.mark.parametrize("number", [0, 7, -1])
def test_there_is_no_other_case(number: int) -> None:
    with pytest.raises(IndexError):
        Cases(axes(2, 3), "product")[number]
