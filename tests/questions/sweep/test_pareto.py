"""The Pareto front against its definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kschedctl.questions.sweep.answer import Aim
from kschedctl.questions.sweep.job import Row
from kschedctl.questions.sweep.pareto import front

GOALS = {"a": Aim.MAXIMISE, "b": Aim.MINIMISE, "c": Aim.MAXIMISE}
NUMBERS = st.one_of(st.none(), st.integers(0, 4), st.sampled_from([0.5, 1.5]))


def dominates(one: Row, other: Row, goals: dict[str, Aim]) -> bool:
    """At least as good in every goal, and better in one."""
    pairs = [(one.values[goal], other.values[goal], aim) for goal, aim in goals.items()]
    signed = [(a, b) if aim is Aim.MAXIMISE else (b, a) for a, b, aim in pairs]
    return all(a >= b for a, b in signed) and any(a > b for a, b in signed)  # type: ignore[operator]


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=12), st.integers(1, 3))
def test_the_front_is_what_nothing_dominates(points: list[tuple[float | None, ...]], n_goals: int) -> None:
    goals = dict(list(GOALS.items())[:n_goals])
    rows = [Row(case=i, axes={}, values=dict(zip("abc", point, strict=True))) for i, point in enumerate(points, 1)]
    measured = [row for row in rows if all(row.values[goal] is not None for goal in goals)]
    expected = {row.case for row in measured if not any(dominates(other, row, goals) for other in measured)}
    assert front(rows, goals) == expected


def test_cases_that_failed_are_not_on_it() -> None:
    rows = [Row(case=1, axes={}, error="no"), Row(case=2, axes={}, values={"a": 1})]
    assert front(rows, {"a": Aim.MAXIMISE}) == {2}
    assert front(rows, {}) == frozenset()
