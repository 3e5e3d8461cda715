"""Patterns: what a single node can hold, as columns of a linear program (Gilmore and Gomory's column generation).

A site of many nodes is a choice of patterns, so that nothing is placed on parts of two nodes. The linear program over
all patterns gives bounds that programs over counts do not reach; the patterns that it brings about are what the integer
program is solved over then. New patterns are found by a small program per site, against the prices of the last round.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kschedctl.optimum.distribute import rivals_of
from kschedctl.optimum.goals import Goal, Opened, Placement, Running, Scores
from kschedctl.optimum.model import Model
from kschedctl.optimum.sites import Ground, Site, is_inner
from kschedctl.optimum.solver import load_solver, new_model

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar

#: How many pods of each kind a node holds, of kinds with any.
Pattern = tuple[tuple[int, int], ...]
#: Rounds of new patterns, and improvements that are none.
_MOST_ROUNDS: Final = 200
_TINY: Final = 1e-6
#: How near its bound the linear program is when no more patterns are looked for.
_NEAR: Final = 0.0005
#: How often prices are varied in the end, and by how much.
_VARIATIONS: Final = 12
_VARIED_BY: Final = 0.3
#: How near the integer program is to its own bound when it is good enough.
_NEAR_ENOUGH: Final = 0.0002
#: Weights of what is sought are whole numbers to the small programs.
_SCALE: Final = 100_000


@dataclass(slots=True)
class Row:
    """A condition on counts that is linear: the weighted counts and so many of a free variable are at most so many."""

    weights: dict[tuple[int, int], float]
    most: float
    least: int = -1
    of_least: float = 0.0


@dataclass(slots=True)
class Patterns:
    """The patterns of the sites.

    Attributes
    ----------
    of_site : list of dict of Pattern to None
        Those known so far, in the order in which they were found.
    given : list of Counter of Pattern
        How often the placement has each that was taken in last: where to begin.
    """

    ground: Ground
    sites: Sequence[Site]
    of_site: list[dict[Pattern, None]] = field(default_factory=list)
    given: list[Counter[Pattern]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.of_site = [{} for _ in self.sites]
        self.given = [Counter() for _ in self.sites]

    def take(self, placement: Placement) -> None:
        """Take in what nodes hold in a placement."""
        site_of = {row: s for s, site in enumerate(self.sites) for row in site.rows}
        on: dict[int, list[tuple[int, int]]] = {}
        self.given = [Counter() for _ in self.sites]
        for (k, row), n in sorted(placement.placed.items()):
            on.setdefault(row, []).append((k, n))
        for row, pattern in on.items():
            if row in site_of:
                self.of_site[site_of[row]][tuple(pattern)] = None
                self.given[site_of[row]][tuple(pattern)] += 1

    def bound(self, goal: Goal, reached: Sequence[tuple[Goal, int]], deadline: float) -> float | None:
        """What no placement surpasses in a goal, others being reached already.

        Patterns that bring it about are known afterwards. ``None`` where no time was left, or the patterns known so far
        do not reach the others: those of a placement that does are taken in before.
        """
        return _Master(self, goal, reached).bound(deadline)

    def integer(self, goal: Goal, reached: Sequence[tuple[Goal, int]], seconds: float) -> Placement | None:
        """The best of the known patterns in a goal, others being reached already; ``None`` where none was found.

        Of affinity between placed pods it knows nothing: the filters say whether the placement holds.
        """
        found = _Master(self, goal, reached).integer(seconds)
        return self.dealt(*found) if found is not None else None

    def restrict(self, model: Model) -> list[list[IntVar]]:
        """Let a model over the sites give every node one of the known patterns; how often each is given."""
        out = []
        for s, site in enumerate(model.sites):
            known = list(self.of_site[s])
            given = [model.cp.new_int_var(0, site.n_nodes, "") for _ in known]
            model.cp.add(sum(given) <= site.n_nodes)
            for k, x in model.at_site(s):
                held = [dict(pattern).get(k, 0) * g for pattern, g in zip(known, given, strict=True)]
                model.cp.add(x <= sum(held))
            out.append(given)
        return out

    def dealt(self, counts: Mapping[tuple[int, int], int], given: Sequence[Sequence[int]]) -> Placement:
        """The counts of sites dealt out to nodes by their patterns."""
        placed: dict[tuple[int, int], int] = {}
        for s, site in enumerate(self.sites):
            left = {k: n for (k, at), n in counts.items() if at == s}
            rows = iter(site.rows)
            for pattern, n in zip(self.of_site[s], given[s], strict=True):
                for _ in range(n):
                    row = next(rows)
                    for k, most in pattern:
                        here = min(most, left.get(k, 0))
                        if here:
                            placed[k, row] = here
                            left[k] -= here
        return Placement(placed)


class _Master:
    """The linear program over the known patterns, for one goal."""

    def __init__(self, patterns: Patterns, goal: Goal, reached: Sequence[tuple[Goal, int]]) -> None:
        self.patterns = patterns
        self.ground, self.sites = patterns.ground, patterns.sites
        self.question = self.ground.question
        self.goal = goal
        self.rivals = rivals_of(self.question)
        self.rows = [*self._demand(), *(self._kept(*each) for each in reached), *self._relations()]
        self._pricing = [_Pricing(self.ground, site, self.rivals) for site in self.sites]

    def _weights(self, goal: Goal) -> dict[tuple[int, int], float]:
        """What a pod of a kind on a site counts for a goal."""
        out = {}
        for k, kind in enumerate(self.question.kinds):
            for s, site in enumerate(self.sites):
                if isinstance(goal, Running):
                    weight = float(kind.priority == goal.priority)
                else:
                    weight = float(kind.sifted.scores[site.row]) if isinstance(goal, Scores) else 0.0
                if weight:
                    out[k, s] = weight
        return out

    def _demand(self) -> Iterator[Row]:
        for k, kind in enumerate(self.question.kinds):
            yield Row({(k, s): 1.0 for s in range(len(self.sites))}, len(kind.pods))

    def _kept(self, goal: Goal, value: int) -> Row:
        return Row({key: -weight for key, weight in self._weights(goal).items()}, -value)

    def _relations(self) -> Iterator[Row]:
        """Conditions over domains of several nodes, as far as they are linear."""
        n_least = 0
        for k, kind in enumerate(self.question.kinds):
            affinity = kind.sifted.affinity
            for counts in (*affinity.anti_affinity, *affinity.existing) if affinity is not None else ():
                if counts.per_class[kind.class_id] > 0 and not is_inner(counts.column):
                    for code in range(len(counts.column.values)):
                        own = {
                            (k, s): 1.0 for s, site in enumerate(self.sites) if counts.column.codes[site.row] == code
                        }
                        yield Row(own, 1.0)
            for domains in kind.sifted.spread:
                codes = [code for code in range(len(domains.column.values)) if domains.exists[code]]
                few = len(codes) < domains.constraint.min_domains
                start = [int(domains.counts[code]) for code in codes]
                skew = domains.constraint.max_skew
                # Only where it holds at the start does it hold of domains that get none.
                if not domains.constraint.selector or not domains.self_match or is_inner(domains.column) or not codes:
                    continue
                if max(start) - (0 if few else min(start)) > skew:
                    continue
                counted = [r for r, other in enumerate(self.question.kinds) if domains.moved[other.class_id]]
                for code, there in zip(codes, start, strict=True):
                    here = [
                        s
                        for s, site in enumerate(self.sites)
                        if domains.column.codes[site.row] == code and domains.included[site.row]
                    ]
                    one = -1.0 if not few else 0.0
                    yield Row({(k, s): 1.0 for s in here}, skew - there, n_least, one)
                    yield Row({(r, s): -1.0 for r in counted for s in here}, there, n_least, -one)
                n_least += 1

    def _value(self, s: int, pattern: Pattern, weights: Mapping[tuple[int, int], float]) -> float:
        if isinstance(self.goal, Opened):
            return -float(self.goal.prices_of(self.question).get(self.sites[s].row, 0)) if pattern else 0.0
        return sum(weights.get((k, s), 0.0) * n for k, n in pattern)

    def bound(self, deadline: float) -> float | None:
        """Solve, with new patterns until none helps any more."""
        best: float | None = None
        weights = self._weights(self.goal)
        for _ in range(_MOST_ROUNDS):
            if time.monotonic() > deadline:
                break
            solved = self._solve(weights)
            if solved is None:
                return None
            value, prices, site_prices = solved
            slack = 0.0
            fresh = 0
            for s, site in enumerate(self.sites):
                worth = {k: weights.get((k, s), 0.0) - prices.get((k, s), 0.0) for k in range(len(self.question.kinds))}
                opening = self._value(s, ((0, 1),), {}) if isinstance(self.goal, Opened) else 0.0
                pattern, gain = self._pricing[s].best(worth)
                gain = max(gain + opening, 0.0) - site_prices[s]
                if gain > _TINY:
                    slack += gain * site.n_nodes
                    if pattern not in self.patterns.of_site[s]:
                        self.patterns.of_site[s][pattern] = None
                        fresh += 1
            best = value + slack if best is None else min(best, value + slack)
            if not fresh or slack <= _NEAR * max(abs(value), 1.0):
                if isinstance(self.goal, Opened):
                    self._vary(weights, prices, deadline)
                break
        return best if self.goal.maximize or best is None else -best

    def _vary(
        self, weights: Mapping[tuple[int, int], float], prices: Mapping[tuple[int, int], float], deadline: float
    ) -> None:
        """Take in what would be best at somewhat other prices: whole numbers need more to choose from."""
        draw = random.Random(1)
        for _ in range(_VARIATIONS):
            other = [draw.uniform(1 - _VARIED_BY, 1 + _VARIED_BY) for _ in self.question.kinds]
            for s in range(len(self.sites)):
                if time.monotonic() > deadline:
                    return
                worth = {k: weights.get((k, s), 0.0) - prices.get((k, s), 0.0) * f for k, f in enumerate(other)}
                pattern, _ = self._pricing[s].best(worth)
                if pattern:
                    self.patterns.of_site[s].setdefault(pattern)

    def integer(self, seconds: float) -> tuple[dict[tuple[int, int], int], list[list[int]]] | None:
        """Solve over the known patterns in whole numbers: pods of kinds on sites, and how often patterns are given."""
        from ortools.linear_solver import pywraplp

        solver: Any = pywraplp.Solver.CreateSolver("SCIP")
        infinity = solver.infinity()
        weights = self._weights(self.goal)
        counts = {}
        given: list[list[Any]] = []
        objective = solver.Objective()
        objective.SetMaximization()
        for s, site in enumerate(self.sites):
            known = list(self.patterns.of_site[s])
            given.append([solver.IntVar(0, site.n_nodes, "") for _ in known])
            nodes = solver.Constraint(-infinity, site.n_nodes)
            for pattern, column in zip(known, given[-1], strict=True):
                nodes.SetCoefficient(column, 1)
                if isinstance(self.goal, Opened):
                    objective.SetCoefficient(column, self._value(s, pattern, {}))
            for k in sorted({k for pattern in known for k, _ in pattern}):
                count = counts[k, s] = solver.IntVar(0, infinity, "")
                objective.SetCoefficient(count, weights.get((k, s), 0.0))
                held = solver.Constraint(-infinity, 0)
                held.SetCoefficient(count, 1)
                for pattern, column in zip(known, given[-1], strict=True):
                    if k in dict(pattern):
                        held.SetCoefficient(column, -dict(pattern)[k])
        least: dict[int, Any] = {}
        for row in self.rows:
            constraint = solver.Constraint(-infinity, row.most)
            if row.least >= 0 and row.of_least:
                least.setdefault(row.least, solver.NumVar(0, infinity, ""))
                constraint.SetCoefficient(least[row.least], row.of_least)
            for key, weight in row.weights.items():
                if key in counts:
                    constraint.SetCoefficient(counts[key], weight)
        self._hint(solver, counts, given)
        solver.SetTimeLimit(int(seconds * 1000))
        parameters = pywraplp.MPSolverParameters()
        parameters.SetDoubleParam(parameters.RELATIVE_MIP_GAP, _NEAR_ENOUGH)
        if solver.Solve(parameters) not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
            return None
        placed = {key: round(count.solution_value()) for key, count in counts.items()}
        return (
            {key: n for key, n in placed.items() if n},
            [[round(column.solution_value()) for column in columns] for columns in given],
        )

    def _hint(self, solver: Any, counts: Mapping[tuple[int, int], Any], given: Sequence[Sequence[Any]]) -> None:
        """Begin with the placement that is known."""
        variables: list[Any] = []
        values: list[float] = []
        sums: Counter[tuple[int, int]] = Counter()
        for s, columns in enumerate(given):
            for pattern, column in zip(self.patterns.of_site[s], columns, strict=True):
                n = self.patterns.given[s][pattern]
                variables.append(column)
                values.append(n)
                for k, each in pattern:
                    sums[k, s] += n * each
        for key, count in counts.items():
            variables.append(count)
            values.append(sums[key])
        solver.SetHint(variables, values)

    def _solve(
        self, weights: Mapping[tuple[int, int], float]
    ) -> tuple[float, dict[tuple[int, int], float], list[float]] | None:
        """Value, what a pod of a kind on a site costs in prices of rows, and what a node of a site costs."""
        from ortools.linear_solver import pywraplp

        solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        infinity = solver.infinity()
        constraints = [solver.Constraint(-infinity, row.most) for row in self.rows]
        per_site = [solver.Constraint(-infinity, site.n_nodes) for site in self.sites]
        objective = solver.Objective()
        objective.SetMaximization()
        least = {}
        for constraint, row in zip(constraints, self.rows, strict=True):
            if row.least >= 0 and row.of_least:
                if row.least not in least:
                    least[row.least] = solver.NumVar(0, infinity, "")
                constraint.SetCoefficient(least[row.least], row.of_least)
        in_rows: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for r, row in enumerate(self.rows):
            for key, weight in row.weights.items():
                in_rows.setdefault(key, []).append((r, weight))
        for s in range(len(self.sites)):
            for pattern in self.patterns.of_site[s]:
                column = solver.NumVar(0, infinity, "")
                per_site[s].SetCoefficient(column, 1)
                objective.SetCoefficient(column, self._value(s, pattern, weights))
                sums: dict[int, float] = {}
                for k, n in pattern:
                    for r, weight in in_rows.get((k, s), ()):
                        sums[r] = sums.get(r, 0.0) + weight * n
                for r, weight in sums.items():
                    constraints[r].SetCoefficient(column, weight)
        if solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        duals = [constraint.dual_value() for constraint in constraints]
        prices = {key: sum(duals[r] * weight for r, weight in uses) for key, uses in in_rows.items()}
        return objective.Value(), prices, [constraint.dual_value() for constraint in per_site]


class _Pricing:
    """The small program that finds the best pattern of one site."""

    def __init__(self, ground: Ground, site: Site, rivals: set[tuple[int, int]]) -> None:
        question = ground.question
        self.cp = new_model()
        self.kinds = [k for k in range(len(question.kinds)) if ground.most[k][site.row] > 0]
        self.vars = [
            self.cp.new_int_var(0, min(int(ground.most[k][site.row]), len(question.kinds[k].pods)), "")
            for k in self.kinds
        ]
        for name, free in ground.free.items():
            asked = [
                (question.kinds[k].sifted.wanted.get(name, 0), x) for k, x in zip(self.kinds, self.vars, strict=True)
            ]
            if ground.offered[name][site.row] and any(amount for amount, _ in asked):
                self.cp.add(sum(amount * x for amount, x in asked) <= int(free[site.row]))
        present: dict[int, IntVar] = {}
        of = dict(zip(self.kinds, self.vars, strict=True))
        for k, r in sorted(rivals):
            if k == r and k in of:
                self.cp.add(of[k] <= 1)
            elif k in of and r in of:
                for each in (k, r):
                    if each not in present:
                        present[each] = self.cp.new_bool_var("")
                        self.cp.add(of[each] == 0).only_enforce_if(~present[each])
                self.cp.add_at_most_one((present[k], present[r]))

    def best(self, worth: Mapping[int, float]) -> tuple[Pattern, float]:
        """The pattern that is worth most, and what no pattern surpasses."""
        if not self.kinds:
            return (), 0.0
        # Rounded up, so that what is found is a bound.
        whole = [int(worth[k] * _SCALE) + (worth[k] > 0) for k in self.kinds]
        if all(weight <= 0 for weight in whole):
            return (), 0.0
        self.cp.maximize(sum(weight * x for weight, x in zip(whole, self.vars, strict=True)))
        cp_model = load_solver()
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = 2.0
        status = solver.solve(self.cp)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return (), float("inf")
        counts = [(k, solver.value(x)) for k, x in zip(self.kinds, self.vars, strict=True)]
        return tuple((k, n) for k, n in counts if n), solver.best_objective_bound / _SCALE
