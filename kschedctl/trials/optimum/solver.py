"""The solution of a model for one goal after another."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from kschedctl.trials.optimum.goals import Goal, GoalResult
from kschedctl.trials.optimum.placement import Placement
from kschedctl.trials.optimum.sites import Site

if TYPE_CHECKING:
    from kschedctl.trials.optimum.model import Model

#: The share of the remaining time that a goal gets if others follow.
SHARE: Final = 0.6
#: The slack when a bound is rounded to a whole number.
_EPSILON: Final = 1e-6

#: The best value that is known to be possible for the next goal, by the values of the goals before it.
KnownBound: TypeAlias = Callable[[tuple[int, ...]], int | None]


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

    def at(self, sites: Sequence[Site]) -> Placement:
        """Return the solution as a placement in which the first node of each site stands for all of them."""
        return Placement({(k, sites[s].row): n for (k, s), n in self.counts.items()}, self.leaving)


def whole_bound(bound: float, *, maximize: bool) -> int | None:
    """Round a bound to the nearest value that a placement can reach; ``None`` if it is infinite."""
    if math.isinf(bound):
        return None
    return math.floor(bound + _EPSILON) if maximize else math.ceil(bound - _EPSILON)


def solve(
    model: Model,
    goals: Sequence[Goal],
    deadline: float,
    *,
    known: Placement | None,
    bound_of: KnownBound,
    gap: float = 0.0,
    presolve: bool = True,
) -> Solved | None:
    """Solve a model for one goal after another.

    A goal is not solved if the solution so far, or the known placement, reaches its known bound.

    Parameters
    ----------
    deadline : float
        The time to stop, by ``time.monotonic``.
    known : Placement or None
        The placement to start from.
    bound_of : callable
        The known bounds.
    gap : float
        The distance between value and bound, as a share of the bound, that is good enough for the last goal.
    presolve : bool
        False to search at once: making a large model smaller takes longer than the search from a good start.

    Returns
    -------
    Solved or None
        ``None`` if no solution was found in time, or there is no goal to solve.
    """
    start = {} if known is None else _start(model, known)
    found: Solved | None = None
    reached: list[GoalResult] = []
    for goal in goals:
        is_last = goal is goals[-1]
        left = deadline - time.monotonic()
        if left <= 0:
            break
        expression = goal.expression(model)
        bound = bound_of(tuple(each.value for each in reached))
        if known is not None and goal.value(model.question, known) == bound and (found is not None or not is_last):
            reached.append(GoalResult(goal, bound, bound))
        else:
            if bound is not None:
                # The solver stops as soon as it reaches the known bound.
                model.program.add(expression <= bound if goal.maximize else expression >= bound)
            solution = model.program.optimize(
                expression,
                maximize=goal.maximize,
                seconds=left if is_last else max(left * SHARE, 0.05),
                start=start,
                gap=gap if is_last else 0.0,
                presolve=presolve,
            )
            if solution is None:
                break
            value = solution.of(expression)
            reached.append(GoalResult(goal, value, whole_bound(solution.bound, maximize=goal.maximize)))
            start = dict(enumerate(solution.values))
            counts = {key: n for key, x in model.placed.items() if (n := solution.of(x))}
            leaving = {o: n for o, x in enumerate(model.leaving) if x is not None and (n := solution.of(x))}
            found = Solved(counts, leaving)
            known = found.at(model.sites)
        value = reached[-1].value
        model.program.add(expression >= value if goal.maximize else expression <= value)
    return None if found is None else replace(found, standings=tuple(reached))


def _start(model: Model, placement: Placement) -> dict[int, int]:
    """Return the values of variables at a placement."""
    counts = model.counts_by_site(placement)
    values = [(x, counts[key]) for key, x in model.placed.items()]
    values += [(x, placement.leaving.get(o, 0)) for o, x in enumerate(model.leaving) if x is not None]
    return {x.terms[0][0]: n for x, n in values}
