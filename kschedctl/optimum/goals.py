"""Goals, one after another: what comes first is as good as can be before the next is looked at.

1. as many pods on nodes as can be, by priority from the highest; who leaves and is not placed again is one less
2. disruption budgets broken as little as can be
3. as few evictions as can be, by priority from the highest
4. the scheduler's own scores, or nodes that come into use, or the price of nodes that are bought
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kschedctl.optimum.model import Model
from kschedctl.optimum.question import Question
from kschedctl.workloads.replacement import NODE_BOUND

if TYPE_CHECKING:
    from kschedctl.optimum.model import Linear


@dataclass(frozen=True, slots=True)
class Placement:
    """Who goes where, and who leaves.

    Attributes
    ----------
    placed : mapping of (int, int) to int
        How many pods of a kind go to a node row.
    leaving : mapping of int to int
        How many of which occupants leave.
    """

    placed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    leaving: Mapping[int, int] = field(default_factory=dict)

    def of_kind(self, k: int) -> int:
        """How many pods of a kind are placed."""
        return sum(count for (kind, _), count in self.placed.items() if kind == k)


class Last(StrEnum):
    """What decides between placements that are equal in everything else."""

    SCORES = "scores"
    NODES = "nodes"


class Goal(Protocol):
    """One goal."""

    @property
    def name(self) -> str:
        """What is counted, for people."""
        ...

    @property
    def maximize(self) -> bool:
        """Whether more is better."""
        ...

    def expression(self, model: Model) -> Linear:
        """What is counted, for the solver."""
        ...

    def value(self, question: Question, placement: Placement) -> int:
        """What a placement comes to."""
        ...


@dataclass(frozen=True, slots=True)
class Running:
    """How many pods of a priority are on nodes: those that are placed, less those that leave."""

    priority: int
    maximize: bool = True

    @property
    def name(self) -> str:
        """For people."""
        return f"more pods of priority {self.priority} on nodes"

    def expression(self, model: Model) -> Linear:
        """For the solver."""
        kinds = [k for k, kind in enumerate(model.question.kinds) if kind.priority == self.priority]
        placed = sum(sum(model.of_kind(k)) for k in kinds)
        return placed - sum(
            variable
            for occupants, variable in zip(model.question.occupants, model.leaving, strict=True)
            if variable is not None and occupants.priority == self.priority
        )

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        kinds = {k for k, kind in enumerate(question.kinds) if kind.priority == self.priority}
        placed = sum(count for (k, _), count in placement.placed.items() if k in kinds)
        gone = sum(n for o, n in placement.leaving.items() if question.occupants[o].priority == self.priority)
        return placed - gone


@dataclass(frozen=True, slots=True)
class Violations:
    """By how many evictions disruption budgets are broken, over all budgets."""

    name: str = "evictions beyond disruption budgets"
    maximize: bool = False

    def expression(self, model: Model) -> Linear:
        """For the solver."""
        total: Linear = 0
        for budget in model.question.budgets:
            covered = [
                variable
                for occupants, variable in zip(model.question.occupants, model.leaving, strict=True)
                if variable is not None and budget.classes[occupants.class_id]
            ]
            if covered:
                most = sum(len(o.pods) for o in model.question.occupants if budget.classes[o.class_id])
                beyond = model.cp.new_int_var(0, most, "")
                model.cp.add(beyond >= sum(covered) - max(budget.allowed, 0))
                total = total + beyond
        return total

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        out = 0
        for budget in question.budgets:
            leaving = placement.leaving.items()
            gone = sum(n for o, n in leaving if budget.classes[question.occupants[o].class_id])
            out += max(gone - max(budget.allowed, 0), 0)
        return out


@dataclass(frozen=True, slots=True)
class Evictions:
    """How many pods of a priority leave their node."""

    priority: int
    maximize: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return f"evictions of priority {self.priority}"

    def expression(self, model: Model) -> Linear:
        """For the solver."""
        return sum(
            variable
            for occupants, variable in zip(model.question.occupants, model.leaving, strict=True)
            if variable is not None and occupants.priority == self.priority
        )

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        return sum(n for o, n in placement.leaving.items() if question.occupants[o].priority == self.priority)


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores that the scheduler would give each pod's node as the cluster is at the start, added up."""

    name: str = "scores"
    maximize: bool = True

    def expression(self, model: Model) -> Linear:
        """For the solver."""
        scores = [kind.sifted.scores for kind in model.question.kinds]
        return sum(int(scores[k][model.sites[s].row]) * variable for (k, s), variable in model.placed.items())

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        return sum(int(question.kinds[k].sifted.scores[row]) * n for (k, row), n in placement.placed.items())


@dataclass(frozen=True, slots=True)
class Opened:
    """How many nodes come into use that nobody was on, pods of DaemonSets and mirror pods aside; or what they cost.

    Attributes
    ----------
    prices : mapping of int to int
        What each of some rows costs; empty for 1 of every node that is not in use.
    """

    prices: Mapping[int, int] = field(default_factory=dict)
    name: str = "nodes that come into use"
    maximize: bool = False

    def prices_of(self, question: Question) -> dict[int, int]:
        """What rows cost that come into use."""
        return dict(self.prices) or dict.fromkeys(unused_rows(question), 1)

    def expression(self, model: Model) -> Linear:
        """For the solver."""
        prices = self.prices_of(model.question)
        total: Linear = 0
        for s, site in enumerate(model.sites):
            price = prices.get(site.row, 0)
            here = model.at_site(s)
            if not price or not here:
                continue
            opened = model.cp.new_int_var(0, site.n_nodes, "")
            for k, x in here:
                most = int(model.ground.most[k][site.row])
                model.cp.add(x <= min(most, len(model.question.kinds[k].pods) or most) * opened)
            for name, free in model.ground.free.items():
                asked = [(model.question.kinds[k].sifted.wanted.get(name, 0), x) for k, x in here]
                if model.ground.offered[name][site.row] and any(amount > 0 for amount, _ in asked):
                    model.cp.add(sum(amount * x for amount, x in asked) <= int(free[site.row]) * opened)
            total = total + price * opened
        return total

    def value(self, question: Question, placement: Placement) -> int:
        """Of a placement."""
        prices = self.prices_of(question)
        return sum(prices.get(row, 0) for row in {row for (_, row), n in placement.placed.items() if n})


def unused_rows(question: Question) -> list[int]:
    """The nodes with nobody but pods that belong to the node."""
    pods = question.start.cluster.pods
    used = np.zeros(len(question.cluster.nodes), dtype=np.bool_)
    for index in np.flatnonzero(pods.node_row >= 0).tolist():
        owner = pods.owner(index)
        if owner is None or owner.kind not in NODE_BOUND:
            used[pods.node_row[index]] = True
    return np.flatnonzero(~used).tolist()


def goals_of(question: Question, last: Last) -> list[Goal]:
    """The goals of a question, in order."""
    leaving = {occupants.priority for occupants in question.occupants}
    priorities = sorted({kind.priority for kind in question.kinds} | leaving, reverse=True)
    goals: list[Goal] = [Running(priority) for priority in priorities]
    if leaving and question.budgets:
        goals.append(Violations())
    goals += [Evictions(priority) for priority in sorted(leaving, reverse=True)]
    return [*goals, Scores() if last is Last.SCORES else Opened()]


def worth(question: Question, goals: Sequence[Goal], placement: Placement) -> tuple[int, ...]:
    """What a placement comes to, so that the better of two is the greater."""
    return tuple(goal.value(question, placement) * (1 if goal.maximize else -1) for goal in goals)
