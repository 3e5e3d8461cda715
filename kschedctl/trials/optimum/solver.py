"""The solution of a model for one goal after another."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from kschedctl.trials.optimum.goals import Goal, GoalResult
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.model import Model
from kschedctl.trials.optimum.program import Patience
from kschedctl.trials.optimum.question import PlacementQuestion
from kschedctl.trials.optimum.sites import PodCapacities, Site, is_per_node

#: The share of the remaining time that a goal gets if others follow.
SHARE: Final = 0.6
#: The slack when a bound is rounded to a whole number.
_EPSILON: Final = 1e-6

#: The best value that is known to be possible for the next goal, by the values of the goals before it.
KnownBound: TypeAlias = Callable[[tuple[int, ...]], int | None]


@dataclass(frozen=True, slots=True)
class Solved:
    """A solution of a model."""

    #: The number of pods per kind and site.
    counts: dict[tuple[int, int], int]
    #: The number of evicted pods per group of occupants.
    leaving: dict[int, int]
    #: The result for each goal, in order; fewer than all goals if time ran out.
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
    patience: Patience | None = None,
) -> Solved | None:
    """Solve a model for one goal after another.

    A goal is not solved if the solution so far, or the known placement, reaches its known bound.

    Args:
        deadline: The time to stop, by ``time.monotonic``.
        gap: The distance between value and bound, as a share of the bound, that is good enough for the last goal.
        presolve: False to search at once: making a large model smaller takes longer than the search from a good
            start.
        patience: The end of the search for each goal.

    Returns: ``None`` if no solution was found in time, or there is no goal to solve.
    """
    start: dict[int, int] = {}
    if known is not None:
        at_start = model.counts_by_site(known)
        values = [(x, at_start[key]) for key, x in model.placed.items()]
        values += [(x, known.leaving.get(o, 0)) for o, x in enumerate(model.leaving) if x is not None]
        start = {x.terms[0][0]: n for x, n in values}
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
                patience=patience,
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


# Distribution of a solution over sites to single nodes.

#: Heuristics: fill a node before the next or alternate, and sort pods by their largest request or by the sum.
_HEURISTICS: Final = ((True, True), (False, True), (True, False))


def distributions(capacity: PodCapacities, model: Model, solved: Solved) -> Iterator[Placement]:
    """Yield placements on nodes for a solution over sites; pods that fit on no node are omitted."""
    rivals = rivals_of(capacity.question)
    seen: set[frozenset[tuple[tuple[int, int], int]]] = set()
    for full_first, by_largest in _HEURISTICS:
        placed: dict[tuple[int, int], int] = {}
        for s, site in enumerate(model.sites):
            counts = {k: n for (k, at), n in solved.counts.items() if at == s}
            if site.n_nodes == 1:
                placed.update({(k, site.row): n for k, n in counts.items()})
            elif counts:
                placed.update(
                    _distribute(capacity, site.rows, counts, rivals, full_first=full_first, by_largest=by_largest)
                )
        key = frozenset(placed.items())
        if key not in seen:
            seen.add(key)
            yield Placement(placed, solved.leaving)


def _distribute(
    capacity: PodCapacities,
    rows: Sequence[int],
    counts: dict[int, int],
    rivals: set[tuple[int, int]],
    *,
    full_first: bool,
    by_largest: bool,
) -> Counter[tuple[int, int]]:
    names = [name for name in capacity.free if capacity.offered[name][rows[0]]]
    free = {row: [int(capacity.free[name][row]) for name in names] for row in rows}
    on: dict[int, Counter[int]] = {row: Counter() for row in rows}
    wanted = {k: [capacity.question.kinds[k].filters.wanted.get(name, 0) for name in names] for k in counts}
    whole = [max(amount, 1) for amount in free[rows[0]]]

    def size(k: int) -> tuple[float, ...]:
        shares = [amount / total for amount, total in zip(wanted[k], whole, strict=True)]
        largest = max(shares, default=0.0)
        return (largest, sum(shares)) if by_largest else (sum(shares), largest)

    def fits(k: int, row: int) -> bool:
        has_room = all(not amount or amount <= left for amount, left in zip(wanted[k], free[row], strict=True))
        return has_room and not any(on[row][r] and (min(k, r), max(k, r)) in rivals for r in on[row])

    placed: Counter[tuple[int, int]] = Counter()
    for k in sorted(counts, key=size, reverse=True):
        for _ in range(counts[k]):
            fitting = [row for row in rows if fits(k, row)]
            if not fitting:
                break
            if full_first:
                row = max(fitting, key=lambda each: (on[each].total(), -each))
            else:
                row = min(fitting, key=lambda each: (on[each][k], on[each].total(), each))
            on[row][k] += 1
            placed[k, row] += 1
            free[row] = [left - amount for left, amount in zip(free[row], wanted[k], strict=True)]
    return placed


def rivals_of(question: PlacementQuestion) -> set[tuple[int, int]]:
    """Return the pairs of kinds that cannot share a node, because of host ports or anti-affinity."""
    out: set[tuple[int, int]] = set()
    for k, kind in enumerate(question.kinds):
        for r, other in enumerate(question.kinds):
            apart = any(is_per_node(c.column) and c.per_class[other.class_id] > 0 for c in kind.filters.exclusions)
            if apart or any(a.conflicts(b) for a in kind.filters.ports for b in other.filters.ports):
                out.add((min(k, r), max(k, r)))
    return out
