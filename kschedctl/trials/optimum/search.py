"""Search for the best placement: over groups of identical nodes, patterns, promising nodes, and then all single nodes.

Unless the result is to be proven, the search ends where little but the bounds improves: if no better placement comes
for a while, or only the nodes are left that are not promising.

The real filters verify every solution. A solution that they refuse is excluded, and the model is solved again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import Goal, GoalResult, Opened, goal_values, goals_of, unused_rows
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.model import Model
from kschedctl.trials.optimum.patterns import Patterns
from kschedctl.trials.optimum.program import Linear, Patience, Relaxed, total
from kschedctl.trials.optimum.question import PlacementQuestion
from kschedctl.trials.optimum.sites import PodCapacities, Site, grouped_sites, single_node_sites
from kschedctl.trials.optimum.solver import SHARE, distributions, solve, whole_bound
from kschedctl.trials.optimum.trial import OF_OTHERS, OF_THE_NODE, Proof, Refusal, prove, related_kinds

# Cuts: constraints that exclude a refused solution and all others that fail for the same reason.


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut: at least one of these counts must change."""

    #: Kinds and node rows, each with a count that must fall, or rise.
    fewer: tuple[tuple[tuple[int, int], int], ...] = ()
    more: tuple[tuple[tuple[int, int], int], ...] = ()
    #: Groups of occupants, each with a number of evictions that must rise, or fall.
    leave_more: tuple[tuple[int, int], ...] = ()
    leave_fewer: tuple[tuple[int, int], ...] = ()


def cut_of(question: PlacementQuestion, placement: Placement, refusal: Refusal) -> Cut:
    """Return the cut for a refusal."""
    leaving = {o: placement.leaving.get(o, 0) for o in range(len(question.occupants))}
    if refusal.plugins and refusal.plugins <= OF_THE_NODE:
        here = tuple(((k, row), n) for (k, row), n in placement.placed.items() if row == refusal.row and n)
        own = tuple((o, n) for o, n in leaving.items() if question.occupants[o].row == refusal.row)
        return Cut(fewer=here, leave_more=own)
    kinds = related_kinds(question, refusal.kind) if refusal.plugins <= OF_OTHERS else set(range(len(question.kinds)))
    placed = {(k, row): placement.placed.get((k, row), 0) for k in kinds for row in range(len(question.cluster.nodes))}
    return Cut(
        fewer=tuple((key, n) for key, n in placed.items() if n),
        more=tuple(placed.items()),
        leave_more=tuple(leaving.items()),
        leave_fewer=tuple((o, n) for o, n in leaving.items() if n),
    )


def exclude(model: Model, cut: Cut) -> None:
    """Add a cut to a model over single nodes."""

    def placed(key: tuple[int, int]) -> Linear | None:
        k, row = key
        return model.placed.get((k, model.site_of_row.get(row, -1)))

    rising = chain(((placed(key), n) for key, n in cut.more), ((model.leaving[o], n) for o, n in cut.leave_more))
    falling = chain(((placed(key), n) for key, n in cut.fewer), ((model.leaving[o], n) for o, n in cut.leave_fewer))
    literals = []
    for changes, rises in ((falling, False), (rising, True)):
        for variable, n in changes:
            if variable is not None:
                literals.append(model.program.variable())
                model.program.add(variable >= n + 1 if rises else variable <= n - 1, when=literals[-1])
    model.program.add(total(literals) >= 1)


#: The shares of the time for groups of identical nodes, and until the end of the search over patterns.
_SHARE_GROUPS: Final = 0.03
_SHARE_PATTERNS: Final = 0.75
#: The share of the time until the end of the search over promising nodes.
_SHARE_PROMISING: Final = 0.3
#: The least CPU time of the solver without a better solution, in seconds, after which it ends unless it is to prove
#: one.
_PATIENCE: Final = 5.0
#: The time in seconds after which the nodes that are not promising are left out, unless the result is to be proven.
_SECONDS_FOR_PROOF: Final = 10.0
#: The share of a goal's time for its bound.
_SHARE_BOUND: Final = 0.5
#: The number of pods of a kind on a node, as a fraction, from which the node counts as used.
_USED: Final = 1e-6
#: The number of pairs of a kind and a node from which promising nodes are enough.
_ENOUGH: Final = 5_000
#: The number of pairs of a kind and a node from which a gap, in percent, ends the search.
_MANY: Final = 2_000
_GOOD_ENOUGH: Final = 1.0
#: The number of pods up to which patterns are not used.
_FEW_PODS: Final = 60
#: The ratio of groups to nodes above which groups are not solved.
_WORTH_IT: Final = 0.8


@dataclass(frozen=True, slots=True)
class Best:
    """The best placement found."""

    placement: Placement
    #: An order in which the real filters accept every pod; ``None`` for a multi-step placement that no order
    #: proves.
    proof: Proof | None
    standings: tuple[GoalResult, ...]
    #: The number of solutions that the real filters refused.
    n_refused: int
    #: True if every excluded solution is certainly impossible, so that bounds hold.
    exact: bool
    #: True if the search ended because no better placement came, and goes on where it is to prove the result.
    stalled: bool = False

    @property
    def proven(self) -> bool:
        """True if no placement is better."""
        return self.exact and all(standing.proven for standing in self.standings)


def best(
    question: PlacementQuestion,
    *,
    seconds: float,
    final: FinalGoal = FinalGoal.SCORES,
    known: Sequence[Placement] = (),
    goals: Sequence[Goal] | None = None,
    for_preemptors: bool = True,
    proves: bool = False,
) -> Best:
    """Find the best placement.

    Args:
        known: Valid placements, such as the multi-step one; the result is never worse.
        goals: The goals; by default those of the question.
        for_preemptors: True if pods may leave only a node that receives a pod allowed to preempt them.
        proves: True to search until the time limit or a proof, though no better placement comes.
    """
    begin = time.monotonic()
    deadline = begin + seconds
    goals = goals_of(question, final) if goals is None else goals
    search = _Search(question, goals, for_preemptors=for_preemptors, patience=None if proves else Patience(_PATIENCE))
    for placement in known:
        search.take(placement, None)
    if not known:
        search.propose(Placement())
    search.over_groups(begin + seconds * _SHARE_GROUPS)
    # Patterns know no gangs.
    if not search.done and not question.occupants and not question.gangs and question.n_waiting > _FEW_PODS:
        search.over_patterns(begin + seconds * _SHARE_PATTERNS)
    if not search.done and search.is_large and question.occupants:
        search.over_promising_nodes(begin + seconds * _SHARE_PROMISING if proves else deadline)
        if search.leaves_proof:
            deadline = min(deadline, begin + _SECONDS_FOR_PROOF)
    while not search.done and not search.good_enough and time.monotonic() < deadline:
        if not search.over_single_nodes(deadline):
            break
    return search.answer()


class _Search:
    """The state of a search."""

    def __init__(
        self, question: PlacementQuestion, goals: Sequence[Goal], *, for_preemptors: bool, patience: Patience | None
    ) -> None:
        self.question = question
        #: The end of each search of the solver; ``None`` to prove the result.
        self.patience = patience
        #: True if the promising nodes have been searched for every goal, so that the others matter for the proof alone,
        #: and the result need not be proven.
        self.leaves_proof = False
        self.goals = tuple(goals)
        self.capacity = PodCapacities(question)
        self.for_preemptors = for_preemptors
        self.cuts: list[Cut] = []
        self.exact = True
        self.found: Placement | None = None
        self.proof: Proof | None = None
        #: The bound of the next goal, by the values of the goals before it.
        self.bounds: dict[tuple[int, ...], int] = {}

    def is_better(self, placement: Placement) -> bool:
        """Report whether a placement is better than the best found."""
        if self.found is None:
            return True
        values = [goal_values(self.question, self.goals, each) for each in (placement, self.found)]
        return values[0] > values[1]

    def take(self, placement: Placement, proof: Proof | None) -> None:
        """Keep a valid placement if it is better."""
        if self.is_better(placement):
            self.found, self.proof = placement, proof

    def propose(self, placement: Placement) -> Refusal | None:
        """Verify a placement and keep it if it is better; return the refusal of an invalid one."""
        result = prove(self.question, placement)
        if isinstance(result, Refusal):
            return result
        self.take(placement, result)
        return None

    def note(self, solved: Sequence[GoalResult]) -> None:
        """Keep the bounds of a solution, which hold for all placements."""
        for i, standing in enumerate(solved):
            if standing.bound is not None:
                self.note_bound(tuple(each.value for each in solved[:i]), standing.goal, standing.bound)

    def note_bound(self, before: tuple[int, ...], goal: Goal, bound: int) -> None:
        """Keep the bound of a goal, given the values of the goals before it."""
        known = self.bounds.get(before, bound)
        self.bounds[before] = min(known, bound) if goal.maximize else max(known, bound)

    @property
    def done(self) -> bool:
        """True if the placement found is proven to be the best."""
        return self.found is not None and all(standing.proven for standing in self.standings())

    @property
    def is_large(self) -> bool:
        """True if the model of single nodes is large."""
        return len(self.question.kinds) * len(self.capacity.reachable) >= _MANY

    @property
    def good_enough(self) -> bool:
        """True if the model of single nodes is large and every gap is small."""
        return self.is_large and all(
            standing.gap is not None and standing.gap <= _GOOD_ENOUGH for standing in self.standings()
        )

    def bound_of(self, before: tuple[int, ...]) -> int | None:
        """Return the known bound of the next goal, given the values of the goals before it."""
        goal = self.goals[len(before)]
        limit = goal.limit(self.question, dict(zip((each.name for each in self.goals), before, strict=False)))
        known = [bound for bound in (self.bounds.get(before), limit) if bound is not None]
        return (min if goal.maximize else max)(known, default=None)

    def standings(self) -> tuple[GoalResult, ...]:
        """Return the results of the placement found."""
        assert self.found is not None
        values = [goal.value(self.question, self.found) for goal in self.goals]
        out = []
        for i, (goal, value) in enumerate(zip(self.goals, values, strict=True)):
            bound = self.bound_of(tuple(values[:i]))
            # A multi-step placement can exceed a bound: a pod can preempt others and then be placed elsewhere.
            if bound is not None and (value > bound if goal.maximize else value < bound):
                bound = None
            out.append(GoalResult(goal, value, bound))
        return tuple(out)

    def answer(self) -> Best:
        """Return the best placement found."""
        assert self.found is not None
        proof: Proof | Refusal = self.proof or prove(self.question, self.found)
        stalled = self.leaves_proof or (self.patience is not None and self.patience.ran_out)
        return Best(
            self.found,
            proof if isinstance(proof, Proof) else None,
            self.standings(),
            len(self.cuts),
            self.exact,
            stalled=stalled and not self.done and not self.good_enough,
        )

    def over_groups(self, deadline: float) -> None:
        """Solve over groups of identical nodes, and distribute the solution to single nodes."""
        sites = self._groups()
        if len(sites) > _WORTH_IT * len(self.capacity.reachable):
            return
        model = Model(self.capacity, sites, for_preemptors=self.for_preemptors)
        solved = solve(model, self.goals, deadline, known=self.found, bound_of=self.bound_of, patience=self.patience)
        if solved is None:
            return
        self.note(solved.standings)
        for placement in distributions(self.capacity, model, solved):
            if self.is_better(placement):
                self.propose(placement)
            # The search for an order of many pods is slow if none exists: leave the time to the patterns.
            if self.done or time.monotonic() > deadline:
                return

    def _groups(self) -> list[Site]:
        question, n_nodes = self.question, len(self.question.cluster.nodes)
        features = [kind.filters.scores for kind in question.kinds]
        prices = [goal.prices_of(question) for goal in self.goals if isinstance(goal, Opened)]
        by_row = (*prices, dict.fromkeys(unused_rows(question), 1))
        features += [np.array([each.get(row, 0) for row in range(n_nodes)], dtype=np.int64) for each in by_row]
        return grouped_sites(self.capacity, features)

    def over_patterns(self, deadline: float) -> None:
        """Solve over patterns of groups, as long as the placement improves."""
        patterns = Patterns(self.capacity, self._groups())
        while time.monotonic() < deadline and not self.done and not self.good_enough:
            before = self.found
            self._goal_by_goal(patterns, deadline)
            if self.found is before:
                return

    def _goal_by_goal(self, patterns: Patterns, deadline: float) -> None:
        """Compute the bound of each goal, then the best placement of the patterns generated for it."""
        reached: list[tuple[Goal, int]] = []
        for number, goal in enumerate(self.goals):
            assert self.found is not None
            left = deadline - time.monotonic()
            # The price of opened nodes depends on patterns, not on counts: no goal can follow it.
            if left <= 0 or any(isinstance(each, Opened) for each, _ in reached):
                return
            until = deadline if number == len(self.goals) - 1 else deadline - left * (1 - SHARE)
            before = tuple(value for _, value in reached)
            value = goal.value(self.question, self.found)
            if self.bound_of(before) != value:
                patterns.take(self.found)
                bound = patterns.bound(goal, reached, until - (until - time.monotonic()) * (1 - _SHARE_BOUND))
                whole = None if bound is None else whole_bound(bound, maximize=goal.maximize)
                if whole is not None:
                    self.note_bound(before, goal, whole)
            if self.bound_of(before) != value:
                placement = patterns.best(goal, reached, max(until - time.monotonic(), 0.1), self.patience)
                if placement is not None and self.is_better(placement):
                    self.propose(placement)
            reached.append((goal, goal.value(self.question, self.found)))

    def over_promising_nodes(self, deadline: float) -> None:
        """Solve one goal after another over the nodes that solutions with fractions of pods use.

        The result is a start that is rarely far from the best, and takes a small part of the time of all nodes. The
        values of the fractions are bounds.
        """
        model = Model(self.capacity, single_node_sites(self.capacity), for_preemptors=self.for_preemptors)
        promising: set[int] = set()
        is_complete = True
        relaxed: Relaxed | None = None
        for number, goal in enumerate(self.goals, 1):
            assert self.found is not None
            *before, value = (each.value(self.question, self.found) for each in self.goals[:number])
            expression = goal.expression(model)
            # Goals that are reached are solved too, as the solution for one goal is near that for the next.
            relaxed = model.program.relax(
                expression, relaxed, maximize=goal.maximize, seconds=max(deadline - time.monotonic(), 0)
            )
            if relaxed is None:
                return
            bound = whole_bound(relaxed.value, maximize=goal.maximize)
            if bound is not None:
                self.note_bound(tuple(before), goal, bound)
            if self.bound_of(tuple(before)) != value:
                promising = _promising(model, expression, relaxed, goal, promising, deadline)
                sites = [Site((model.sites[s].row,)) for s in sorted(promising)]
                left = deadline - time.monotonic()
                until = time.monotonic() + left * (SHARE if number < len(self.goals) else 1)
                # What is reached of the goals before is not improved again.
                solved = self._solve(sites, until, self.goals[:number], settled=before)
                is_complete &= solved is not None and not solved[1]
                value = goal.value(self.question, self.found)
            model.program.add(expression >= value if goal.maximize else expression <= value)
        self.leaves_proof = is_complete and self.patience is not None

    def over_single_nodes(self, deadline: float) -> bool:
        """Solve over single nodes; return True if a refused solution was excluded."""
        solved = self._solve(single_node_sites(self.capacity), deadline, self.goals, is_large=self.is_large)
        if solved is None:
            return False
        standings, is_refused = solved
        self.note(standings)
        return is_refused

    def _solve(
        self,
        sites: Sequence[Site],
        deadline: float,
        goals: Sequence[Goal],
        *,
        settled: Sequence[int] = (),
        is_large: bool = False,
    ) -> tuple[tuple[GoalResult, ...], bool] | None:
        """Solve over sites of one node, propose the solution, and exclude it if the filters refuse it.

        Args:
            settled: The values of the first goals at the best placement found, which are kept.

        Returns: The results, and True if the solution was refused; ``None`` if no solution was found in time.
        """
        model = Model(self.capacity, sites, for_preemptors=self.for_preemptors)
        for cut in self.cuts:
            exclude(model, cut)
        solved = solve(
            model,
            goals,
            deadline,
            known=self.found,
            bound_of=lambda before: settled[len(before)] if len(before) < len(settled) else self.bound_of(before),
            gap=_GOOD_ENOUGH / 100 if is_large else 0.0,
            presolve=not is_large,
            patience=self.patience,
        )
        if solved is None:
            return None
        placement = solved.at(sites)
        refusal = self.propose(placement) if self.is_better(placement) else None
        if refusal is not None:
            self.exact &= refusal.certain or refusal.plugins <= OF_THE_NODE
            self.cuts.append(cut_of(self.question, placement, refusal))
        return solved.standings, refusal is not None


def _promising(
    model: Model, expression: Linear, relaxed: Relaxed | None, goal: Goal, known: set[int], deadline: float
) -> set[int]:
    """Return the sites of a solution with fractions, then of the best one without these sites, until they are many.

    Args:
        expression: The goal, over the variables of the model.
        relaxed: The best solution with fractions.
        known: Sites that are promising already.
        deadline: The time to stop, by ``time.monotonic``.
    """
    program, found = model.program, set(known)
    most = list(program.most)
    while relaxed is not None:
        new = {s for (_, s), x in model.placed.items() if relaxed.of(x) > _USED} - found
        found |= new
        if not new or sum(s in found for _, s in model.placed) >= _ENOUGH:
            break
        for (_, s), x in model.placed.items():
            if s in new:
                program.most[x.terms[0][0]] = 0
        left = max(deadline - time.monotonic(), 0)
        relaxed = program.relax(expression, relaxed, maximize=goal.maximize, seconds=left)
    program.most[:] = most
    return found
