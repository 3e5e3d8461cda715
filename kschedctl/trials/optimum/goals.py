"""Goals of a placement, in order of precedence: a later goal never worsens an earlier one.

1. the most pods on nodes, by priority from the highest; an evicted pod that is not placed again counts as one fewer
2. the fewest evictions beyond disruption budgets
3. the fewest evictions, by priority from the highest
4. the highest sum of the scheduler's scores, the fewest nodes that come into use, or the lowest price of bought nodes
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.program import Linear, total
from kschedctl.trials.optimum.question import PlacementQuestion

if TYPE_CHECKING:
    from kschedctl.trials.optimum.model import Model


class Goal(Protocol):
    """A goal: by default a weighted sum over placed pods and evicted pods."""

    @property
    def name(self) -> str:
        """The name shown to users."""
        ...

    @property
    def maximize(self) -> bool:
        """True if a higher value is better."""
        ...

    @property
    def counted(self) -> str:
        """The things that a better placement has more of, or fewer, as a plural."""
        return self.name

    def placed_weight(self, question: PlacementQuestion, k: int, row: int) -> int:
        """Return the weight of a pod of kind `k` on a node."""
        return 0

    def leaving_weight(self, question: PlacementQuestion, o: int) -> int:
        """Return the weight of an evicted pod of occupants `o`."""
        return 0

    def limit(self, question: PlacementQuestion, reached: Mapping[str, int]) -> int | None:
        """Return a value that no placement exceeds; ``None`` without one that is obvious.

        Args:
            reached: The values of the earlier goals, by their names.
        """
        return None if self.maximize else 0

    def expression(self, model: "Model") -> Linear:
        """Return the value as an expression over the variables of `model`."""
        question = model.question
        placed = [(self.placed_weight(question, k, model.sites[s].row), x) for (k, s), x in model.placed.items()]
        leaving = [(self.leaving_weight(question, o), x) for o, x in enumerate(model.leaving) if x is not None]
        return total(weight * x for weight, x in (*placed, *leaving) if weight)

    def value(self, question: PlacementQuestion, placement: Placement) -> int:
        placed = sum(self.placed_weight(question, k, row) * n for (k, row), n in placement.placed.items())
        return placed + sum(self.leaving_weight(question, o) * n for o, n in placement.leaving.items())


@dataclass(frozen=True, slots=True)
class Running(Goal):
    """The number of placed pods of a priority, minus the number of evicted pods of that priority."""

    priority: int
    #: True if pods of the priority can be evicted.
    evicts: bool = False
    maximize: bool = True

    @property
    def name(self) -> str:
        what = "placed minus evicted" if self.evicts else "placed"
        return f"pods of priority {self.priority}, {what}"

    @property
    def counted(self) -> str:
        return f"pods of priority {self.priority} on nodes"

    def placed_weight(self, question: PlacementQuestion, k: int, row: int) -> int:
        return int(question.kinds[k].priority == self.priority)

    def limit(self, question: PlacementQuestion, reached: Mapping[str, int]) -> int | None:
        priorities = [kind.priority for kind in question.kinds]
        pending = sum(len(kind.pods) for kind in question.kinds if kind.priority == self.priority)
        return pending + sum(
            len(o.pods) for o in question.occupants if o.kind >= 0 and priorities[o.kind] == self.priority != o.priority
        )

    def leaving_weight(self, question: PlacementQuestion, o: int) -> int:
        return -int(question.occupants[o].priority == self.priority)


@dataclass(frozen=True, slots=True)
class Violations(Goal):
    """The number of evictions beyond disruption budgets, over all budgets."""

    name: str = "evictions beyond disruption budgets"
    maximize: bool = False

    def expression(self, model: "Model") -> Linear:
        over = []
        for budget in model.question.budgets:
            groups = zip(model.question.occupants, model.leaving, strict=True)
            covered = [(o, x) for o, x in groups if x is not None and budget.classes[o.class_id]]
            if covered:
                over.append(model.program.variable(sum(len(o.pods) for o, _ in covered)))
                model.program.add(over[-1] >= total(x for _, x in covered) - max(budget.allowed, 0))
        return total(over)

    def value(self, question: PlacementQuestion, placement: Placement) -> int:
        out = 0
        for budget in question.budgets:
            leaving = placement.leaving.items()
            gone = sum(n for o, n in leaving if budget.classes[question.occupants[o].class_id])
            out += max(gone - max(budget.allowed, 0), 0)
        return out


@dataclass(frozen=True, slots=True)
class Evictions(Goal):
    """The number of evicted pods of a priority; of any priority for ``None``."""

    priority: int | None = None
    maximize: bool = False

    @property
    def name(self) -> str:
        return "pods that move" if self.priority is None else f"evictions of priority {self.priority}"

    def limit(self, question: PlacementQuestion, reached: Mapping[str, int]) -> int | None:
        return 0 if self.priority is None else max(-reached.get(Running(self.priority, evicts=True).name, 0), 0)

    def leaving_weight(self, question: PlacementQuestion, o: int) -> int:
        return int(self.priority is None or question.occupants[o].priority == self.priority)


@dataclass(frozen=True, slots=True)
class ScoreGoal(Goal):
    """The sum of the scores that the scheduler gives each pod's node in the initial cluster."""

    name: str = "scores"
    maximize: bool = True

    def placed_weight(self, question: PlacementQuestion, k: int, row: int) -> int:
        return int(question.kinds[k].filters.scores[row])


@dataclass(frozen=True, slots=True)
class Opened(Goal):
    """The number of unused nodes that receive pods, or their price.

    A node with only DaemonSet pods and mirror pods counts as unused.
    """

    #: Prices by node row; empty for a price of 1 for every unused node.
    prices: Mapping[int, int] = field(default_factory=dict)
    name: str = "nodes that come into use"
    maximize: bool = False

    def prices_of(self, question: PlacementQuestion) -> dict[int, int]:
        """Return the price of each node that is not in use, by row."""
        return dict(self.prices) or dict.fromkeys(unused_rows(question), 1)

    def expression(self, model: "Model") -> Linear:
        prices = self.prices_of(model.question)
        costs = []
        for s, site in enumerate(model.sites):
            price = prices.get(site.row, 0)
            here = model.at_site(s)
            if not price or not here:
                continue
            opened = model.program.variable(site.n_nodes)
            for k, x in here:
                model.program.add(x <= min(int(model.capacity.most[k][site.row]), model.n_pods[k]) * opened)
            for name, free in model.capacity.free.items():
                requests = model.requests_at(s, name)
                if requests:
                    model.program.add(total(amount * x for amount, x in requests) <= int(free[site.row]) * opened)
            costs.append(price * opened)
        return total(costs)

    def value(self, question: PlacementQuestion, placement: Placement) -> int:
        prices = self.prices_of(question)
        return sum(prices.get(row, 0) for row in placement.rows)


@dataclass(frozen=True, slots=True)
class GoalResult:
    """The result for one goal."""

    goal: Goal
    #: The value of the placement.
    value: int
    #: A limit that no placement with the same values of earlier goals exceeds; ``None`` if unknown.
    bound: int | None

    @property
    def proven(self) -> bool:
        """True if no placement is better."""
        return self.value == self.bound

    @property
    def gap(self) -> float | None:
        """The distance from the bound, in percent of the bound; ``None`` if no bound is known."""
        if self.bound is None:
            return None
        return 0.0 if self.proven else 100 * abs(self.bound - self.value) / max(abs(self.bound), 1)


def nodes_in_use(cluster: Cluster) -> dict[int, list[int]]:
    """Return the pods of each used node by row, without DaemonSet pods and mirror pods."""
    used: dict[int, list[int]] = {}
    for index in np.flatnonzero(cluster.pods.node_row >= 0).tolist():
        owner = cluster.pods.owner(index)
        if owner is None or owner.kind not in NODE_BOUND:
            used.setdefault(int(cluster.pods.node_row[index]), []).append(index)
    return used


def unused_rows(question: PlacementQuestion) -> list[int]:
    """Return the rows of nodes that have no pods other than DaemonSet pods and mirror pods."""
    used = nodes_in_use(question.start.cluster)
    return [row for row in range(len(question.cluster.nodes)) if row not in used]


def goals_of(question: PlacementQuestion, final: FinalGoal) -> list[Goal]:
    """Return the goals of a question, in order."""
    leaving = {occupants.priority for occupants in question.occupants}
    priorities = sorted({kind.priority for kind in question.kinds} | leaving, reverse=True)
    goals: list[Goal] = [Running(priority, evicts=priority in leaving) for priority in priorities]
    if leaving and question.budgets:
        goals.append(Violations())
    goals += [Evictions(priority) for priority in sorted(leaving, reverse=True)]
    return [*goals, ScoreGoal() if final is FinalGoal.SCORES else Opened()]


def goal_values(question: PlacementQuestion, goals: Sequence[Goal], placement: Placement) -> tuple[int, ...]:
    """Return the values of goals, negated where less is better, so that a greater tuple is a better placement."""
    return tuple(goal.value(question, placement) * (1 if goal.maximize else -1) for goal in goals)
