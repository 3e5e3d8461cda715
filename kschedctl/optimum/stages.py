"""One goal after another solved: each as good as can be while the ones before it stay as good as they are."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kschedctl.optimum.goals import Goal, Placement
from kschedctl.optimum.model import Model
from kschedctl.optimum.solver import load_solver

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar

#: Up to so many variables one thread is enough, and the answer is the same every time.
_SMALL: Final = 4_000
#: What share of the time that is left a goal gets that others follow.
_SHARE: Final = 0.6
#: The solver's bounds are rounded to whole numbers with this much of slack.
_EPSILON: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a goal was reached.

    Attributes
    ----------
    goal : Goal
        The goal.
    value : int
        What was reached.
    bound : int
        What cannot be surpassed, the goals before it as they are.
    """

    goal: Goal
    value: int
    bound: int

    @property
    def proven(self) -> bool:
        """Whether it cannot be better."""
        return self.value == self.bound

    @property
    def gap(self) -> float:
        """How far from the bound it may be, in hundredths."""
        return 0.0 if self.proven else 100 * abs(self.bound - self.value) / max(abs(self.bound), 1)


@dataclass(frozen=True, slots=True)
class Solved:
    """What the solver found.

    Attributes
    ----------
    counts : dict of (int, int) to int
        How many pods of a kind go to each site.
    leaving : dict of int to int
        How many of which occupants leave.
    reached : tuple of Reached
        How far the goals were reached, in order; goals for which no time was left have no entry.
    extra : list of list of int
        The values of further variables.
    """

    counts: dict[tuple[int, int], int]
    leaving: dict[int, int]
    reached: tuple[Reached, ...]
    extra: list[list[int]] = field(default_factory=list)


def solve(
    model: Model,
    goals: Sequence[Goal],
    deadline: float,
    hint: Placement | None = None,
    extra: Sequence[Sequence[IntVar]] = (),
    bounds: Mapping[tuple[int, ...], int] | None = None,
) -> Solved | None:
    """Solve for one goal after another.

    Parameters
    ----------
    deadline : float
        When to stop, by ``time.monotonic``.
    hint : Placement, optional
        Where to begin.
    extra : sequence of sequence of IntVar
        Further variables of which the values are wanted.
    bounds : mapping of tuple of int to int, optional
        Values of goals, and what the next goal cannot surpass then.

    Returns
    -------
    Solved or None
        ``None`` where nothing was found in time, or there is nothing to find.
    """
    cp_model = load_solver()
    if hint is not None:
        _hint(model, _by_site(model, hint), hint.leaving)
    counts: dict[tuple[int, int], int] | None = None
    leaving: dict[int, int] = {}
    reached: list[Reached] = []
    values: list[list[int]] = []
    for number, goal in enumerate(goals):
        is_last = number == len(goals) - 1
        left = deadline - time.monotonic()
        if left <= 0:
            break
        expression = goal.expression(model)
        if isinstance(expression, int) and (counts is not None or not is_last):
            reached.append(Reached(goal, expression, expression))
            continue
        known = (bounds or {}).get(tuple(each.value for each in reached))
        if known is not None and not isinstance(expression, int):
            # Once it is reached nothing better is looked for.
            model.cp.add(expression <= known if goal.maximize else expression >= known)
        (model.cp.maximize if goal.maximize else model.cp.minimize)(expression)
        solver = cp_model.CpSolver()
        # No goal uses up what those after it need.
        solver.parameters.max_time_in_seconds = left if is_last else max(left * _SHARE, 0.05)
        small = len(model.placed) + len(model.leaving) <= _SMALL
        solver.parameters.num_workers = 1 if small else max(os.cpu_count() or 1, 2)
        solver.parameters.random_seed = 1
        status = solver.solve(model.cp)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            break
        value, bound = round(solver.objective_value), solver.best_objective_bound
        bound = math.floor(bound + _EPSILON) if goal.maximize else math.ceil(bound - _EPSILON)
        reached.append(Reached(goal, value, value if status == cp_model.OPTIMAL else bound))
        counts = {key: solver.value(x) for key, x in model.placed.items()}
        values = [[solver.value(x) for x in each] for each in extra]
        leaving = {o: solver.value(x) for o, x in enumerate(model.leaving) if x is not None}
        if not isinstance(expression, int):
            model.cp.add(expression >= value if goal.maximize else expression <= value)
        model.cp.clear_hints()  # type: ignore[no-untyped-call]
        _hint(model, counts, leaving)
        for variable, n in zip((x for each in extra for x in each), (n for each in values for n in each), strict=True):
            model.cp.add_hint(variable, n)
    if counts is None:
        return None
    return Solved(
        {key: n for key, n in counts.items() if n}, {o: n for o, n in leaving.items() if n}, tuple(reached), values
    )


def _by_site(model: Model, hint: Placement) -> dict[tuple[int, int], int]:
    counts: dict[tuple[int, int], int] = {}
    for (k, row), n in hint.placed.items():
        s = model.site_of_row.get(row)
        if s is not None:
            counts[k, s] = counts.get((k, s), 0) + n
    return counts


def _hint(model: Model, counts: Mapping[tuple[int, int], int], leaving: Mapping[int, int]) -> None:
    for key, variable in model.placed.items():
        model.cp.add_hint(variable, counts.get(key, 0))
    for o, one in enumerate(model.leaving):
        if one is not None:
            model.cp.add_hint(one, leaving.get(o, 0))
