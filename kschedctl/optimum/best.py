"""The best placement: solved over nodes that are alike first, then over every node, until the real filters agree."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.optimum.cuts import Cut, cut_of, exclude
from kschedctl.optimum.distribute import distributed
from kschedctl.optimum.goals import Goal, Last, Opened, Placement, goals_of, unused_rows, worth
from kschedctl.optimum.model import Model
from kschedctl.optimum.patterns import Patterns
from kschedctl.optimum.question import Question
from kschedctl.optimum.sites import Ground, Site, each_node, nodes_alike
from kschedctl.optimum.stages import Solved, solve
from kschedctl.optimum.trial import OF_THE_NODE, Proof, Refusal, prove

#: What share of the time nodes that are alike get, and the patterns of what nodes can hold.
_SHARE_ALIKE: Final = 0.08
_SHARE_PATTERNS: Final = 0.75
#: What share of the time that is left a goal gets that others follow.
_SHARE: Final = 0.6
#: From so many variables on, every node is not looked at where each goal is within so many percent.
_MANY: Final = 2_000
_GOOD_ENOUGH: Final = 1.0
#: What share of the time for a goal goes into its bound.
_SHARE_BOUND: Final = 0.5
#: What share of that for its best in patterns goes to the program that knows no affinity.
_SHARE_INTEGER: Final = 0.75
#: For so few pods every node can be looked at at once.
_FEW_PODS: Final = 60
_EPSILON: Final = 1e-6
#: Where nodes that are alike are not fewer than this share of all, they are not looked at.
_WORTH_IT: Final = 0.8


@dataclass(frozen=True, slots=True)
class Standing:
    """How good the answer is in one goal.

    Attributes
    ----------
    goal : Goal
        The goal.
    value : int
        What the answer comes to.
    bound : int or None
        What no placement surpasses that is as good in the goals before; ``None`` where that is not known.
    """

    goal: Goal
    value: int
    bound: int | None

    @property
    def proven(self) -> bool:
        """Whether no placement is better."""
        return self.value == self.bound

    @property
    def gap(self) -> float | None:
        """How far it may be from the best, in percent; ``None`` where that is not known."""
        if self.bound is None:
            return None
        return 0.0 if self.proven else 100 * abs(self.bound - self.value) / max(abs(self.bound), 1)


@dataclass(frozen=True, slots=True)
class Best:
    """The best placement that was found.

    Attributes
    ----------
    placement : Placement
        Who goes where.
    proof : Proof or None
        The order in which the real filters let every pod pass; ``None`` where it is the multi-step answer itself, which
        they have let pass.
    standings : tuple of Standing
        How good it is.
    n_refused : int
        How many solutions the real filters refused before.
    exact : bool
        Whether every refusal that excluded anything was certain, so that bounds are.
    """

    placement: Placement
    proof: Proof | None
    standings: tuple[Standing, ...]
    n_refused: int
    exact: bool

    @property
    def proven(self) -> bool:
        """Whether no placement is better."""
        return self.exact and all(standing.proven for standing in self.standings)


def best(
    question: Question,
    *,
    seconds: float,
    last: Last = Last.SCORES,
    known: Sequence[Placement] = (),
    goals: Sequence[Goal] | None = None,
    for_preemptors: bool = True,
) -> Best:
    """Find the best placement.

    Parameters
    ----------
    seconds : float
        How long it may take.
    last : Last
        What decides in the end.
    known : sequence of Placement
        Placements that are known to work, such as the multi-step one: what is found is never worse.
    goals : sequence of Goal, optional
        The goals; by default those of the question.
    for_preemptors : bool
        Whether pods leave only a node that a pod goes to which may evict them.
    """
    deadline = time.monotonic() + seconds
    goals = goals_of(question, last) if goals is None else goals
    search = _Search(question, goals, Ground(question), for_preemptors=for_preemptors)
    for placement in known:
        search.take(placement, None)
    if not known:
        search.propose(Placement())
    search.over_nodes_alike(time.monotonic() + seconds * _SHARE_ALIKE)
    if not search.done and not question.occupants and question.n_waiting > _FEW_PODS:
        search.over_patterns(time.monotonic() + seconds * _SHARE_PATTERNS)
    while not search.done and not search.good_enough and time.monotonic() < deadline:
        if not search.over_each_node(deadline):
            break
    return search.answer()


class _Search:
    """The search: what is known so far."""

    def __init__(self, question: Question, goals: Sequence[Goal], ground: Ground, *, for_preemptors: bool) -> None:
        self.question = question
        self.goals = tuple(goals)
        self.ground = ground
        self.for_preemptors = for_preemptors
        self.cuts: list[Cut] = []
        self.exact = True
        self.found: tuple[tuple[int, ...], Placement, Proof | None] | None = None
        #: Values of the goals before, and what the next one cannot surpass then.
        self.bounds: dict[tuple[int, ...], int] = {}

    def take(self, placement: Placement, proof: Proof | None) -> None:
        """Keep a placement that works, if it is the best so far."""
        value = worth(self.question, self.goals, placement)
        if self.found is None or value > self.found[0]:
            self.found = value, placement, proof

    def propose(self, placement: Placement) -> Refusal | None:
        """Put a placement through the real filters; why they refuse it, if they do."""
        said = prove(self.question, placement)
        if isinstance(said, Proof):
            self.take(placement, said)
            return None
        return said

    def note(self, solved: Solved) -> None:
        """Keep the bounds of a solution; those of a relaxation hold for all."""
        before: tuple[int, ...] = ()
        for reached in solved.reached:
            self._note_bound(before, reached.goal, reached.bound)
            before = (*before, reached.value)

    def _note_bound(self, before: tuple[int, ...], goal: Goal, bound: int) -> None:
        known = self.bounds.get(before)
        self.bounds[before] = bound if known is None else (min if goal.maximize else max)(known, bound)

    @property
    def done(self) -> bool:
        """Whether the best that is known is the best there is."""
        return self.found is not None and all(standing.proven for standing in self.standings())

    @property
    def good_enough(self) -> bool:
        """Whether there are so many variables that looking at every node is not worth what it could still bring."""
        if len(self.question.kinds) * len(self.ground.reachable) < _MANY or self.found is None:
            return False
        return all(standing.gap is not None and standing.gap <= _GOOD_ENOUGH for standing in self.standings())

    def standings(self) -> tuple[Standing, ...]:
        """How good the best is that is known."""
        assert self.found is not None
        values = [goal.value(self.question, self.found[1]) for goal in self.goals]
        out = []
        for i, (goal, value) in enumerate(zip(self.goals, values, strict=True)):
            bound = self.bounds.get(tuple(values[:i]))
            # The multi-step answer may do what no placement at once may: evict for a pod that goes elsewhere then.
            if bound is not None and (value > bound if goal.maximize else value < bound):
                bound = None
            out.append(Standing(goal, value, bound))
        return tuple(out)

    def answer(self) -> Best:
        """The best that is known."""
        assert self.found is not None
        _, placement, proof = self.found
        if proof is None:
            said = prove(self.question, placement)
            proof = said if isinstance(said, Proof) else None
        return Best(placement, proof, self.standings(), len(self.cuts), self.exact)

    def over_nodes_alike(self, deadline: float) -> None:
        """Solve over nodes that are alike, and let the pods have single nodes."""
        sites = self._sites_alike()
        if len(sites) > _WORTH_IT * len(self.ground.reachable):
            return
        model = Model(self.ground, sites, for_preemptors=self.for_preemptors)
        hint = self.found[1] if self.found is not None else None
        solved = solve(model, self.goals, deadline, hint, (), self.bounds)
        if solved is None:
            return
        self.note(solved)
        for placement in distributed(self.question, self.ground, model, solved):
            if self.found is None or worth(self.question, self.goals, placement) > self.found[0]:
                self.propose(placement)
            if self.done:
                return

    def _sites_alike(self) -> list[Site]:
        unused = set(unused_rows(self.question))
        rows = self.question.cluster.nodes.rows
        told = [kind.sifted.scores for kind in self.question.kinds]
        prices = [goal.prices_of(self.question) for goal in self.goals if isinstance(goal, Opened)]
        told += [np.array([each.get(row, 0) for row in rows.tolist()], dtype=np.int64) for each in prices]
        told.append(np.array([row in unused for row in rows.tolist()], dtype=np.int64))
        return nodes_alike(self.ground, told)

    def over_patterns(self, deadline: float) -> None:
        """Solve over what single nodes can hold, goal by goal: first a bound, then the best of the patterns known."""
        sites = self._sites_alike()
        patterns = Patterns(self.ground, sites)
        if self.found is not None:
            patterns.take(self.found[1])
        while time.monotonic() < deadline and not self.done and not self.good_enough:
            before = self.found
            self._goal_by_goal(patterns, deadline)
            if self.found is before:
                return

    def _goal_by_goal(self, patterns: Patterns, deadline: float) -> None:
        reached: list[tuple[Goal, int]] = []
        for number, goal in enumerate(self.goals):
            if any(isinstance(each, Opened) for each, _ in reached):
                # What opened nodes cost is of patterns, not of counts: with it kept, there is no program for another.
                return
            assert self.found is not None
            now = time.monotonic()
            until = now + (deadline - now) * (_SHARE if number < len(self.goals) - 1 else 1.0)
            if now >= deadline:
                return
            before = tuple(value for _, value in reached)
            value = goal.value(self.question, self.found[1])
            if before not in self.bounds or self.bounds[before] != value:
                bound = patterns.bound(goal, reached, now + (until - now) * _SHARE_BOUND)
                if bound is not None:
                    whole = math.floor(bound + _EPSILON) if goal.maximize else math.ceil(bound - _EPSILON)
                    self._note_bound(before, goal, whole)
            if self.bounds.get(before) != value:
                self._solve_patterns(patterns, reached, goal, until)
                value = goal.value(self.question, self.found[1])
            reached.append((goal, value))

    def _solve_patterns(
        self, patterns: Patterns, reached: Sequence[tuple[Goal, int]], goal: Goal, deadline: float
    ) -> None:
        assert self.found is not None
        left = deadline - time.monotonic()
        placement = patterns.integer(goal, reached, max(left * _SHARE_INTEGER, 0.1))
        if placement is not None and worth(self.question, self.goals, placement) > self.found[0]:
            self.propose(placement)
            patterns.take(self.found[1])
            if goal.value(self.question, self.found[1]) == goal.value(self.question, placement):
                return
        model = Model(self.ground, patterns.sites, for_preemptors=self.for_preemptors)
        given = patterns.restrict(model)
        for each, value in reached:
            expression = each.expression(model)
            if not isinstance(expression, int):
                model.cp.add(expression >= value if each.maximize else expression <= value)
        bound = self.bounds.get(tuple(value for _, value in reached))
        known: dict[tuple[int, ...], int] = {} if bound is None else {(): bound}
        solved = solve(model, [goal], deadline, self.found[1], given, known)
        if solved is not None:
            placement = patterns.dealt(solved.counts, solved.extra)
            if worth(self.question, self.goals, placement) > self.found[0]:
                self.propose(placement)
            patterns.take(self.found[1])

    def over_each_node(self, deadline: float) -> bool:
        """Solve over every node, once; whether there is more to look for."""
        sites: list[Site] = each_node(self.ground)
        model = Model(self.ground, sites, for_preemptors=self.for_preemptors)
        for cut in self.cuts:
            exclude(model, cut)
        hint = self.found[1] if self.found is not None else None
        solved = solve(model, self.goals, deadline, hint, (), self.bounds)
        if solved is None:
            return False
        self.note(solved)
        counts = {(k, sites[s].row): n for (k, s), n in solved.counts.items()}
        placement = Placement(counts, solved.leaving)
        value = worth(self.question, self.goals, placement)
        if self.found is not None and value <= self.found[0]:
            return False
        refusal = self.propose(placement)
        if refusal is None:
            return False
        self.exact &= refusal.certain or refusal.plugins <= OF_THE_NODE
        self.cuts.append(cut_of(self.question, placement, refusal))
        return True
