"""Patterns: the sets of pods that a single node can hold, as columns of a linear program (column generation).

A site of many nodes is a choice of patterns, so that no pod is split between two nodes. The linear program over all
patterns bounds a goal more tightly than a program over counts; an integer program over the generated patterns gives a
placement. A small program per site prices patterns by the duals of the last round (Gilmore and Gomory). Within a minute
CP-SAT alone places 444 of the benchmark's 500 pods, and patterns 479 (``benchmarks/README.md``).
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from kschedctl.optimum.cp_sat import load_solver
from kschedctl.optimum.distribution import rivals_of
from kschedctl.optimum.goals import Goal, Opened
from kschedctl.optimum.placement import Placement
from kschedctl.optimum.sites import PodCapacities, Site, is_per_node

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

#: The pods on a node: kinds, each with a positive number.
Pattern: TypeAlias = tuple[tuple[int, int], ...]
#: The goals solved before, each with the value to keep.
Reached: TypeAlias = Sequence[tuple[Goal, int]]
_MOST_ROUNDS: Final = 200
#: The gain below which a pattern is no improvement.
_TINY: Final = 1e-6
#: The relative distance from the bound at which no more patterns are generated.
_NEAR: Final = 0.0005
#: The number of random variations of the final prices, which generate more patterns, and the maximum relative change.
_VARIATIONS: Final = 12
_VARIED_BY: Final = 0.3
#: The relative gap at which the integer program stops.
_NEAR_ENOUGH: Final = 0.0002
#: The factor that makes weights whole numbers.
_SCALE: Final = 100_000


@dataclass(slots=True)
class _Row:
    """A constraint: weighted counts per kind and site, plus a multiple of a free variable, are at most a limit."""

    weights: dict[tuple[int, int], float]
    most: float
    free: int = -1
    of_free: float = 0.0


class Patterns:
    """The known patterns of sites.

    Attributes
    ----------
    of_site : list of dict of Pattern to int
        The patterns of each site, in the order of their discovery, and their numbers in the last placement taken.
    """

    def __init__(self, capacity: PodCapacities, sites: Sequence[Site]) -> None:
        self.capacity = capacity
        self.sites = sites
        self.of_site: list[dict[Pattern, int]] = [{} for _ in sites]
        self.rows = [*_demand(capacity, sites), *_anti_affinity(capacity, sites), *_spread(capacity, sites)]
        rivals = rivals_of(capacity.question)
        self.pricing = [_Pricing(capacity, site, rivals) for site in sites]

    def take(self, placement: Placement) -> None:
        """Add the patterns of a placement, from which the integer program starts."""
        self.of_site = [dict.fromkeys(known, 0) for known in self.of_site]
        on: dict[int, list[tuple[int, int]]] = {}
        for (k, row), n in sorted(placement.placed.items()):
            on.setdefault(row, []).append((k, n))
        for known, site in zip(self.of_site, self.sites, strict=True):
            for pattern in (tuple(on[row]) for row in site.rows if row in on):
                known[pattern] = known.get(pattern, 0) + 1

    def bound(self, goal: Goal, reached: Reached, deadline: float) -> float | None:
        """Generate patterns until none improves a goal, and return a limit that no placement exceeds.

        Returns
        -------
        float or None
            ``None`` if no time was left, or the known patterns do not reach the earlier goals.
        """
        master = _Master(self, goal, reached, "GLOP")
        best: float | None = None
        for _ in range(_MOST_ROUNDS):
            if time.monotonic() > deadline:
                break
            value = master.relaxed()
            if value is None:
                return None
            slack, fresh = master.generate()
            best = value + slack if best is None else min(best, value + slack)
            if not fresh or slack <= _NEAR * max(abs(value), 1.0):
                if isinstance(goal, Opened):
                    master.vary(deadline)
                break
        return best if goal.maximize or best is None else -best

    def best(self, goal: Goal, reached: Reached, seconds: float) -> Placement | None:
        """Return the best placement of the known patterns, except for affinity between pods; ``None`` if none is found.

        The program ignores affinity between placed pods.
        """
        return _Master(self, goal, reached, "SCIP").placement(seconds)


class _Master:
    """The linear or integer program over the known patterns, for one goal.

    A column is the number of nodes with a pattern. Pods per kind and site are limited to what the patterns hold.
    """

    def __init__(self, patterns: Patterns, goal: Goal, reached: Reached, backend: str) -> None:
        from ortools.linear_solver import pywraplp

        self.patterns = patterns
        self.question = patterns.capacity.question
        self.solver: Any = pywraplp.Solver.CreateSolver(backend)
        self.variable = self.solver.IntVar if backend == "SCIP" else self.solver.NumVar
        self.objective = self.solver.Objective()
        self.objective.SetMaximization()
        prices = goal.prices_of(self.question) if isinstance(goal, Opened) else {}
        self.opening = [-float(prices.get(site.row, 0)) for site in patterns.sites]
        self.nodes = [self._at_most(site.n_nodes) for site in patterns.sites]
        self.counts: dict[tuple[int, int], Any] = {}
        self.held: dict[tuple[int, int], Any] = {}
        for s, pricing in enumerate(patterns.pricing):
            for k in pricing.kinds:
                count = self.counts[k, s] = self.variable(0, self.solver.infinity(), "")
                self.held[k, s] = self._at_most(0)
                self.held[k, s].SetCoefficient(count, 1)
                self.objective.SetCoefficient(count, self._weight(goal, k, s))
        kept = [
            _Row({(k, s): -weight for k, s in self.counts if (weight := self._weight(each, k, s))}, -value)
            for each, value in reached
        ]
        free: dict[int, Any] = {}
        for row in (*patterns.rows, *kept):
            constraint = self._at_most(row.most)
            for key in row.weights.keys() & self.counts.keys():
                constraint.SetCoefficient(self.counts[key], row.weights[key])
            if row.of_free:
                if row.free not in free:
                    free[row.free] = self.solver.NumVar(0, self.solver.infinity(), "")
                constraint.SetCoefficient(free[row.free], row.of_free)
        self.columns: list[dict[Pattern, Any]] = [{} for _ in patterns.sites]
        for s, known in enumerate(patterns.of_site):
            for pattern in known:
                self._add(s, pattern)

    def _at_most(self, limit: float) -> Any:
        return self.solver.Constraint(-self.solver.infinity(), limit)

    def _weight(self, goal: Goal, k: int, s: int) -> float:
        return float(goal.placed_weight(self.question, k, self.patterns.sites[s].row))

    def _add(self, s: int, pattern: Pattern) -> None:
        column = self.columns[s][pattern] = self.variable(0, self.solver.infinity(), "")
        self.nodes[s].SetCoefficient(column, 1)
        self.objective.SetCoefficient(column, self.opening[s] if pattern else 0.0)
        for k, n in pattern:
            self.held[k, s].SetCoefficient(column, -n)

    def relaxed(self) -> float | None:
        """Solve the linear program; return its value, ``None`` if it has no solution."""
        return self.solver.Objective().Value() if self.solver.Solve() == self.solver.OPTIMAL else None

    def generate(self) -> tuple[float, bool]:
        """Add the best pattern of each site; return what all patterns can add to the value, and True if any is new."""
        slack, fresh = 0.0, False
        # Adding a column invalidates the duals.
        duals = [(self._worth(s), nodes.dual_value()) for s, nodes in enumerate(self.nodes)]
        for s, (worth, price) in enumerate(duals):
            pattern, value = self.patterns.pricing[s].best(worth)
            gain = max(value + self.opening[s], 0.0) - price
            if gain > _TINY:
                slack += gain * self.patterns.sites[s].n_nodes
                fresh |= self._learn(s, pattern)
        return slack, fresh

    def vary(self, deadline: float) -> None:
        """Add patterns that are best at other prices: the integer program needs more patterns than the linear one."""
        draw = random.Random(1)
        duals = [self._worth(s) for s in range(len(self.nodes))]
        for _ in range(_VARIATIONS):
            factors = [draw.uniform(1 - _VARIED_BY, 1 + _VARIED_BY) for _ in self.question.kinds]
            for s, worth in enumerate(duals):
                if time.monotonic() > deadline:
                    return
                self._learn(s, self.patterns.pricing[s].best({k: each * factors[k] for k, each in worth.items()})[0])

    def _worth(self, s: int) -> dict[int, float]:
        """Return the value of a pod of each kind that a pattern of a site holds.

        The dual of the held pods can be too high where no pod is placed. The least feasible one needs fewer rounds.
        """
        kinds = self.patterns.pricing[s].kinds
        return {k: max(self.held[k, s].dual_value() + self.counts[k, s].reduced_cost(), 0.0) for k in kinds}

    def _learn(self, s: int, pattern: Pattern) -> bool:
        """Add a pattern; return False if it is empty or known."""
        if not pattern or pattern in self.columns[s]:
            return False
        self.patterns.of_site[s][pattern] = 0
        self._add(s, pattern)
        return True

    def placement(self, seconds: float) -> Placement | None:
        """Solve the integer program, starting from the known placement."""
        from ortools.linear_solver import pywraplp

        hint: dict[Any, int] = {}
        held: Counter[tuple[int, int]] = Counter()
        for s, columns in enumerate(self.columns):
            for pattern, column in columns.items():
                hint[column] = self.patterns.of_site[s][pattern]
                held.update({(k, s): n * hint[column] for k, n in pattern})
        hint.update({count: held[key] for key, count in self.counts.items()})
        self.solver.SetHint(list(hint), list(hint.values()))
        self.solver.SetTimeLimit(int(seconds * 1000))
        parameters = pywraplp.MPSolverParameters()
        parameters.SetDoubleParam(parameters.RELATIVE_MIP_GAP, _NEAR_ENOUGH)
        if self.solver.Solve(parameters) not in (self.solver.OPTIMAL, self.solver.FEASIBLE):
            return None
        left = {key: round(count.solution_value()) for key, count in self.counts.items()}
        placed: dict[tuple[int, int], int] = {}
        for s, columns in enumerate(self.columns):
            rows = iter(self.patterns.sites[s].rows)
            for pattern, column in columns.items():
                for row in (next(rows) for _ in range(round(column.solution_value()))):
                    for k, n in pattern:
                        here = min(n, left[k, s])
                        left[k, s] -= here
                        if here:
                            placed[k, row] = here
        return Placement(placed)


def _demand(capacity: PodCapacities, sites: Sequence[Site]) -> Iterator[_Row]:
    for k, kind in enumerate(capacity.question.kinds):
        yield _Row({(k, s): 1.0 for s in range(len(sites))}, len(kind.pods))


def _anti_affinity(capacity: PodCapacities, sites: Sequence[Site]) -> Iterator[_Row]:
    """Yield the limits of kinds that exclude themselves from a domain of several nodes."""
    for k, kind in enumerate(capacity.question.kinds):
        for counts in kind.filters.exclusions:
            if counts.per_class[kind.class_id] > 0 and not is_per_node(counts.column):
                codes = counts.column.codes
                for code in range(len(counts.column.values)):
                    yield _Row({(k, s): 1.0 for s, site in enumerate(sites) if codes[site.row] == code}, 1.0)


def _spread(capacity: PodCapacities, sites: Sequence[Site]) -> Iterator[_Row]:
    """Yield the limits of topology spread constraints over domains of several nodes."""
    spread = [(k, domains) for k, kind in enumerate(capacity.question.kinds) for domains in kind.filters.spread]
    for free, (k, domains) in enumerate(spread):
        codes = np.flatnonzero(domains.exists).tolist()
        start = [int(domains.counts[code]) for code in codes]
        few = len(codes) < domains.constraint.min_domains
        skew = domains.constraint.max_skew
        if not domains.constraint.selector or not domains.self_match or is_per_node(domains.column) or not codes:
            continue
        if max(start) - (0 if few else min(start)) > skew:
            # A constraint that is violated at the start still allows domains that receive no pod.
            continue
        counted = [r for r, other in enumerate(capacity.question.kinds) if domains.moved[other.class_id]]
        of_least = 0.0 if few else 1.0
        for code, there in zip(codes, start, strict=True):
            included = domains.included & (domains.column.codes == code)
            here = [s for s, site in enumerate(sites) if included[site.row]]
            yield _Row({(k, s): 1.0 for s in here}, skew - there, free, -of_least)
            yield _Row({(r, s): -1.0 for r in counted for s in here}, there, free, of_least)


class _Pricing:
    """The integer program that finds the most valuable pattern of a site."""

    def __init__(self, capacity: PodCapacities, site: Site, rivals: set[tuple[int, int]]) -> None:
        question = capacity.question
        self.cp: CpModel = load_solver().CpModel()
        self.kinds = [k for k in range(len(question.kinds)) if capacity.most[k][site.row] > 0]
        self.vars = {
            k: self.cp.new_int_var(0, min(int(capacity.most[k][site.row]), len(question.kinds[k].pods)), "")
            for k in self.kinds
        }
        for name, free in capacity.free.items():
            wanted = [(question.kinds[k].filters.wanted.get(name, 0), x) for k, x in self.vars.items()]
            if capacity.offered[name][site.row] and any(amount for amount, _ in wanted):
                self.cp.add(sum(amount * x for amount, x in wanted) <= int(free[site.row]))
        here = [pair for pair in sorted(rivals) if self.vars.keys() >= set(pair)]
        present = {k: self.cp.new_bool_var("") for k in sorted({k for pair in here for k in pair})}
        for k, some in present.items():
            self.cp.add(self.vars[k] == 0).only_enforce_if(~some)
        for k, r in here:
            if k == r:
                self.cp.add(self.vars[k] <= 1)
            else:
                self.cp.add_at_most_one((present[k], present[r]))

    def best(self, worth: Mapping[int, float]) -> tuple[Pattern, float]:
        """Return the pattern that is worth most, and a limit that no pattern exceeds."""
        # Rounded up, so that the result is a bound.
        weights = {k: int(worth[k] * _SCALE) + (worth[k] > 0) for k in self.kinds}
        if all(weight <= 0 for weight in weights.values()):
            return (), 0.0
        self.cp.maximize(sum(weight * self.vars[k] for k, weight in weights.items()))
        cp_model = load_solver()
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = 2.0
        status = solver.solve(self.cp)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return (), float("inf")
        counts = [(k, solver.value(x)) for k, x in self.vars.items()]
        return tuple((k, n) for k, n in counts if n), solver.best_objective_bound / _SCALE
