"""Patterns: the sets of pods that a single node can hold, as columns of a linear program (column generation).

A site of many nodes is a choice of patterns, so that no pod is split between two nodes. The linear program over all
patterns bounds a goal more tightly than a program over counts; an integer program over the generated patterns gives a
placement. A small program per site prices patterns by the duals of the last round (Gilmore and Gomory). Within a minute
a program over all nodes places 435 of the benchmark's 500 pods, and patterns 482 (``benchmarks/README.md``).
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from kschedctl.common.processes import available_cores
from kschedctl.trials.optimum.goals import Goal, Opened
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.program import Linear, Patience, Program, Relaxed, total
from kschedctl.trials.optimum.sites import PodCapacities, Site, is_per_node
from kschedctl.trials.optimum.solver import rivals_of

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
#: The time limit for the best pattern of a site.
_MOST_SECONDS: Final = 2.0
#: The relative gap at which a pattern is as good as the best.
_NEAR_BEST: Final = 0.0001
#: The factor that makes weights whole numbers.
_SCALE: Final = 100_000


@dataclass(slots=True)
class _Row:
    """A constraint: weighted counts per kind and site, plus a multiple of a free variable, are at most a limit."""

    weights: dict[tuple[int, int], int]
    most: int
    free: int = -1
    of_free: int = 0


class Patterns:
    """The known patterns of sites.

    of_site: The patterns of each site, in the order of their discovery, and their numbers in the last placement
        taken.
    """

    def __init__(self, capacity: PodCapacities, sites: Sequence[Site]) -> None:
        self.capacity = capacity
        self.sites = sites
        self.of_site: list[dict[Pattern, int]] = [{} for _ in sites]
        self.rows = [
            *(
                _Row({(k, s): 1 for s in range(len(sites))}, len(kind.pods))
                for k, kind in enumerate(capacity.question.kinds)
            ),
            *_anti_affinity(capacity, sites),
            *_spread(capacity, sites),
        ]
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

    def price(self, worths: Sequence[Mapping[int, float]]) -> list[tuple[Pattern, float]]:
        """Return, by the worth of a pod of each kind at each site, the best pattern and a limit that none exceeds.

        Sites are priced on all cores, as no price depends on another.
        """
        with ThreadPoolExecutor(available_cores()) as threads:
            return list(threads.map(_Pricing.best, self.pricing, worths))

    def bound(self, goal: Goal, reached: Reached, deadline: float) -> float | None:
        """Generate patterns until none improves a goal, and return a limit that no placement exceeds.

        Returns: ``None`` if no time was left, or the known patterns do not reach the earlier goals.
        """
        master = _Master(self, goal, reached)
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

    def best(self, goal: Goal, reached: Reached, seconds: float, patience: Patience | None = None) -> Placement | None:
        """Return the best placement of the known patterns, except for affinity between pods; ``None`` if none is found.

        The program ignores affinity between placed pods.
        """
        return _Master(self, goal, reached).placement(seconds, patience)


class _Master:
    """The linear or integer program over the known patterns, for one goal.

    A column is the number of nodes with a pattern. Pods per kind and site are limited to what the patterns hold.
    """

    def __init__(self, patterns: Patterns, goal: Goal, reached: Reached) -> None:
        self.patterns = patterns
        self.question = patterns.capacity.question
        self.program = Program()
        self.relaxation: Relaxed | None = None
        prices = goal.prices_of(self.question) if isinstance(goal, Opened) else {}
        self.opening = [-prices.get(site.row, 0) for site in patterns.sites]
        self.nodes = [self.program.add(Linear() <= site.n_nodes) for site in patterns.sites]
        self.counts: dict[tuple[int, int], Linear] = {}
        self.held: dict[tuple[int, int], int] = {}
        self.objective: list[Linear] = []
        # A limit that no variable reaches, so that all prices are those of rows.
        self.beyond = 1 + self.question.n_waiting + sum(site.n_nodes for site in patterns.sites)
        self.beyond += sum(abs(row.most) for row in patterns.rows if row.of_free)
        for s, pricing in enumerate(patterns.pricing):
            for k in pricing.kinds:
                count = self.counts[k, s] = self.program.variable(self.beyond)
                self.held[k, s] = self.program.add(count <= 0)
                self.objective.append(self._weight(goal, k, s) * count)
        kept = [
            _Row({(k, s): -weight for k, s in self.counts if (weight := self._weight(each, k, s))}, -value)
            for each, value in reached
        ]
        free: dict[int, Linear] = {}
        for row in (*patterns.rows, *kept):
            weighted = [row.weights[key] * self.counts[key] for key in row.weights if key in self.counts]
            if row.of_free:
                if row.free not in free:
                    free[row.free] = self.program.variable(self.beyond)
                weighted.append(row.of_free * free[row.free])
            self.program.add(total(weighted) <= row.most)
        self.columns: list[dict[Pattern, Linear]] = [{} for _ in patterns.sites]
        for s, known in enumerate(patterns.of_site):
            for pattern in known:
                self._add_pattern(s, pattern)

    def _weight(self, goal: Goal, k: int, s: int) -> int:
        return goal.placed_weight(self.question, k, self.patterns.sites[s].row)

    def _add_pattern(self, s: int, pattern: Pattern) -> None:
        column = self.columns[s][pattern] = self.program.variable(self.beyond)
        ((x, _),) = column.terms
        self.program.extend(self.nodes[s], x, 1)
        if pattern:
            self.objective.append(self.opening[s] * column)
        for k, n in pattern:
            self.program.extend(self.held[k, s], x, -n)

    def relaxed(self) -> float | None:
        """Solve the linear program; return its value, ``None`` if it has no solution."""
        self.relaxation = self.program.relax(total(self.objective), self.relaxation)
        return None if self.relaxation is None else self.relaxation.value

    def generate(self) -> tuple[float, bool]:
        """Add the best pattern of each site; return what all patterns can add to the value, and True if any is new."""
        slack, fresh = 0.0, False
        assert self.relaxation is not None
        best = self.patterns.price([self._worth(s) for s in range(len(self.nodes))])
        for s, (row, (pattern, value)) in enumerate(zip(self.nodes, best, strict=True)):
            gain = max(value + self.opening[s], 0.0) - self.relaxation.duals[row]
            if gain > _TINY:
                slack += gain * self.patterns.sites[s].n_nodes
                fresh |= self._learn(s, pattern)
        return slack, fresh

    def vary(self, deadline: float) -> None:
        """Add patterns that are best at other prices: the integer program needs more patterns than the linear one."""
        draw = random.Random(1)
        duals = [self._worth(s) for s in range(len(self.nodes))]
        for _ in range(_VARIATIONS):
            if time.monotonic() > deadline:
                return
            factors = [draw.uniform(1 - _VARIED_BY, 1 + _VARIED_BY) for _ in self.question.kinds]
            best = self.patterns.price([{k: each * factors[k] for k, each in worth.items()} for worth in duals])
            for s, (pattern, _) in enumerate(best):
                self._learn(s, pattern)

    def _worth(self, s: int) -> dict[int, float]:
        """Return the value of a pod of each kind that a pattern of a site holds.

        The dual of the held pods can be too high where no pod is placed. The least feasible one needs fewer rounds.
        """
        assert self.relaxation is not None
        duals, costs = self.relaxation.duals, self.relaxation.reduced_costs
        keys = ((k, s) for k in self.patterns.pricing[s].kinds)
        return {k: max(duals[self.held[k, s]] + costs[self.counts[k, s].terms[0][0]], 0.0) for k, s in keys}

    def _learn(self, s: int, pattern: Pattern) -> bool:
        """Add a pattern; return False if it is empty or known."""
        if not pattern or pattern in self.columns[s]:
            return False
        self.patterns.of_site[s][pattern] = 0
        self._add_pattern(s, pattern)
        return True

    def placement(self, seconds: float, patience: Patience | None) -> Placement | None:
        """Solve the integer program, starting from the known placement."""
        start: dict[int, int] = {}
        held: Counter[tuple[int, int]] = Counter()
        for s, columns in enumerate(self.columns):
            for pattern, column in columns.items():
                times = start[column.terms[0][0]] = self.patterns.of_site[s][pattern]
                held.update({(k, s): n * times for k, n in pattern})
        start.update({count.terms[0][0]: held[key] for key, count in self.counts.items()})
        solution = self.program.optimize(
            total(self.objective), maximize=True, seconds=seconds, start=start, gap=_NEAR_ENOUGH, patience=patience
        )
        if solution is None:
            return None
        left = {key: solution.of(count) for key, count in self.counts.items()}
        placed: dict[tuple[int, int], int] = {}
        for s, columns in enumerate(self.columns):
            rows = iter(self.patterns.sites[s].rows)
            for pattern, column in columns.items():
                for row in (next(rows) for _ in range(solution.of(column))):
                    for k, n in pattern:
                        here = min(n, left[k, s])
                        left[k, s] -= here
                        if here:
                            placed[k, row] = here
        return Placement(placed)


def _anti_affinity(capacity: PodCapacities, sites: Sequence[Site]) -> Iterator[_Row]:
    """Yield the limits of kinds that exclude themselves from a domain of several nodes."""
    for k, kind in enumerate(capacity.question.kinds):
        for counts in kind.filters.exclusions:
            if counts.per_class[kind.class_id] > 0 and not is_per_node(counts.column):
                codes = counts.column.codes
                for code in range(len(counts.column.values)):
                    yield _Row({(k, s): 1 for s, site in enumerate(sites) if codes[site.row] == code}, 1)


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
        of_least = 0 if few else 1
        for code, there in zip(codes, start, strict=True):
            included = domains.included & (domains.column.codes == code)
            here = [s for s, site in enumerate(sites) if included[site.row]]
            yield _Row({(k, s): 1 for s in here}, skew - there, free, -of_least)
            yield _Row({(r, s): -1 for r in counted for s in here}, there, free, of_least)


class _Pricing:
    """The integer program that finds the most valuable pattern of a site."""

    def __init__(self, capacity: PodCapacities, site: Site, rivals: set[tuple[int, int]]) -> None:
        question = capacity.question
        self.program = Program()
        self.kinds = [k for k in range(len(question.kinds)) if capacity.most[k][site.row] > 0]
        self.counts = {
            k: self.program.variable(min(int(capacity.most[k][site.row]), len(question.kinds[k].pods)))
            for k in self.kinds
        }
        for name, free in capacity.free.items():
            amounts = {k: question.kinds[k].filters.wanted.get(name, 0) for k in self.kinds}
            wanted = [amount * self.counts[k] for k, amount in amounts.items() if amount]
            # An overcommitted node accepts pods that request none of the resource.
            if wanted and capacity.offered[name][site.row]:
                self.program.add(total(wanted) <= int(free[site.row]))
        here = [pair for pair in sorted(rivals) if self.counts.keys() >= set(pair)]
        present = {k: self.program.variable() for k in sorted({k for pair in here for k in pair})}
        for k, some in present.items():
            self.program.add(self.counts[k] <= 0, when=1 - some)
        for k, r in here:
            self.program.add(self.counts[k] <= 1 if k == r else present[k] + present[r] <= 1)

    def best(self, worth: Mapping[int, float]) -> tuple[Pattern, float]:
        """Return the pattern that is worth most, and a limit that no pattern exceeds."""
        # Rounded up, so that the result is a bound.
        weights = {k: int(worth[k] * _SCALE) + (worth[k] > 0) for k in self.kinds}
        if all(weight <= 0 for weight in weights.values()):
            return (), 0.0
        objective = total(weight * self.counts[k] for k, weight in weights.items())
        solution = self.program.optimize(
            objective, maximize=True, seconds=_MOST_SECONDS, gap=_NEAR_BEST, heuristics=False
        )
        if solution is None:
            return (), float("inf")
        counts = [(k, solution.of(x)) for k, x in self.counts.items()]
        return tuple((k, n) for k, n in counts if n), solution.bound / _SCALE
