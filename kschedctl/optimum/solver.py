"""The solution of a model for one goal after another."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kschedctl.optimum.cp_sat import load_solver
from kschedctl.optimum.goals import Goal, GoalResult
from kschedctl.optimum.placement import Placement

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver

    from kschedctl.optimum.cp_sat import Linear
    from kschedctl.optimum.model import Model

#: The number of variables up to which a single thread is used, so that the result is the same in every run.
_SMALL: Final = 4_000
#: The share of the remaining time that a goal gets if others follow.
SHARE: Final = 0.6
#: The slack when a bound is rounded to a whole number.
_EPSILON: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Solved:
    """A solution of a model.

    Attributes
    ----------
    counts : dict of (int, int) to int
        The number of pods per kind and site.
    leaving : dict of int to int
        The number of evicted pods per group of occupants.
    standings : tuple of GoalResult
        The result for each goal, in order; fewer than all goals if time ran out.
    """

    counts: dict[tuple[int, int], int]
    leaving: dict[int, int]
    standings: tuple[GoalResult, ...] = ()


def whole_bound(bound: float, *, maximize: bool) -> int:
    """Round a bound to the nearest value that a placement can reach."""
    return math.floor(bound + _EPSILON) if maximize else math.ceil(bound - _EPSILON)


def solve(
    model: Model,
    goals: Sequence[Goal],
    deadline: float,
    hint: Placement | None = None,
    bounds: Mapping[tuple[int, ...], int] | None = None,
) -> Solved | None:
    """Solve a model for one goal after another.

    Parameters
    ----------
    deadline : float
        The time to stop, by ``time.monotonic``.
    hint : Placement, optional
        The placement to start from.
    bounds : mapping of tuple of int to int, optional
        The known bound of the next goal, by the values of the goals before it.

    Returns
    -------
    Solved or None
        ``None`` if no solution was found in time, or there is no goal to solve.
    """
    if hint is not None:
        _hint(model, model.counts_by_site(hint), hint.leaving)
    found: Solved | None = None
    reached: list[GoalResult] = []
    for goal in goals:
        is_last = goal is goals[-1]
        left = deadline - time.monotonic()
        if left <= 0:
            break
        expression = goal.expression(model)
        if isinstance(expression, int) and (found is not None or not is_last):
            reached.append(GoalResult(goal, expression, expression))
            continue
        known = (bounds or {}).get(tuple(each.value for each in reached))
        if known is not None and not isinstance(expression, int):
            # The solver stops as soon as it reaches the known bound.
            model.cp.add(expression <= known if goal.maximize else expression >= known)
        solver = _optimized(model, goal, expression, left if is_last else max(left * SHARE, 0.05))
        if solver is None:
            break
        value, bound = round(solver.objective_value), solver.best_objective_bound
        reached.append(GoalResult(goal, value, whole_bound(bound, maximize=goal.maximize)))
        counts = {key: n for key, x in model.placed.items() if (n := solver.value(x))}
        leaving = {o: n for o, x in enumerate(model.leaving) if x is not None and (n := solver.value(x))}
        found = Solved(counts, leaving)
        if not isinstance(expression, int):
            model.cp.add(expression >= value if goal.maximize else expression <= value)
        model.cp.clear_hints()  # type: ignore[no-untyped-call]
        _hint(model, counts, leaving)
    return None if found is None else replace(found, standings=tuple(reached))


def _optimized(model: Model, goal: Goal, expression: Linear, seconds: float) -> CpSolver | None:
    """Optimize one goal; return ``None`` if no solution is found in time."""
    cp_model = load_solver()
    (model.cp.maximize if goal.maximize else model.cp.minimize)(expression)
    solver: CpSolver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    is_small = len(model.placed) + len(model.leaving) <= _SMALL
    solver.parameters.num_workers = 1 if is_small else max(os.cpu_count() or 1, 2)
    solver.parameters.random_seed = 1
    return solver if solver.solve(model.cp) in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None


def _hint(model: Model, counts: Mapping[tuple[int, int], int], leaving: Mapping[int, int]) -> None:
    for key, variable in model.placed.items():
        model.cp.add_hint(variable, counts.get(key, 0))
    for o, evicted in enumerate(model.leaving):
        if evicted is not None:
            model.cp.add_hint(evicted, leaving.get(o, 0))
