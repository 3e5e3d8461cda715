"""The result of preemption for one pod, in names: candidates, victims, and the reasons for rejected nodes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Entries, Mask, Rows, Worlds
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.extender import EXTENDER_NAME
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.budgets import Budget, violated_budgets
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun, lower_priority_pods
from kschedctl.scheduler.preemption.select_candidate import (
    CRITERIA,
    Choice,
    lower_priority_nominated_pods,
    pick_one_node_for_preemption,
    truncate_dry_run,
)

NO_VICTIMS: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("No preemption victims found for incoming pod",))


class Victim(msgspec.Struct, frozen=True):
    """A pod that preemption would evict."""

    #: The pod's index in ``Cluster.pods``.
    pod: int
    #: True if the eviction violates a disruption budget.
    violates: bool
    #: The budgets that cover the pod.
    budgets: tuple[Budget, ...]
    #: The covering budgets that the eviction violates, if all pods of lower priority on the node are evicted in
    #: order.
    violated: tuple[Budget, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A preemption candidate: a node and the victims on it.

    Attributes
    ----------
    node : str
        The node's name.
    victims : tuple of Victim
        The victims, by descending importance.
    n_violations : int
        The number of evictions that violate a disruption budget.
    lost_at : str
        The criterion at which the candidate lost against others; empty for the best candidates.
    criterion : int
        The index of that criterion; -1 without one.
    has, against : int
        The values of the candidate and of the winner for that criterion, as in ``Choice.values``; 0 without one.
    """

    node: str
    victims: tuple[Victim, ...]
    n_violations: int
    lost_at: str
    criterion: int = -1
    has: int = 0
    against: int = 0


class Coverage(msgspec.Struct, frozen=True):
    """The victims that a disruption budget covers."""

    budget: Budget
    #: The victims, as ascending entries of ``DryRun.victims``; at least one.
    entries: Entries
    #: True for each of them whose eviction violates the budget, if all pods of lower priority on the node are evicted
    #: in order: bool, shape (n_entries,).
    violated: Mask


class PreemptionResult:
    """The result of preemption for one pod. Descriptions of candidates are computed on access.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    pod : Pod
        The preemptor.
    status : Status
        Success if a node was found.
    run : DryRun, optional
        The dry run; ``None`` if the pod may not preempt, or removing pods can help on no node.
    choice : Choice, optional
        The comparison of the candidates; ``None`` without candidates.
    clears_nomination : bool
        True if the pod loses its existing nomination, because preemption can help on no node.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod: Pod,
        status: Status,
        run: DryRun | None = None,
        choice: Choice | None = None,
        *,
        clears_nomination: bool = False,
    ) -> None:
        self.status = status
        self.clears_nomination = clears_nomination
        self.run = run
        self.choice = choice
        self._cluster = cluster
        self._pod = pod

    @property
    def nominated(self) -> tuple[str, ...]:
        """The names of the nodes that may be nominated, sorted; several if candidates tie."""
        if self.run is None or self.choice is None:
            return ()
        return tuple(sorted(self._node_names(self.run.victims.rows[self.choice.best])))

    def placement(self, node: str) -> str:
        """Return kube-scheduler's message for a nominated node, from 1.37 on.

        Parameters
        ----------
        node : str
            One of ``nominated``.
        """
        n_victims = 0
        if self.run is not None:
            world = self._node_names(self.run.victims.rows).index(node)
            n_victims = int(self.run.victims.counts[world])
        return f"found a potential placement for pod on node {node}, preempting {n_victims} victims"

    def _node_names(self, rows: Rows) -> list[str]:
        names = self._cluster.nodes.names
        return [names[row] for row in rows]

    @cached_property
    def order(self) -> Worlds:
        """The candidates: first the best ones, then by the criterion at which they lost, latest first."""
        if self.run is None or self.choice is None:
            return np.zeros(0, dtype=np.int64)
        # A candidate that lost at a later criterion was closer to the best ones.
        rank = np.where(self.choice.lost_at < 0, len(CRITERIA), self.choice.lost_at)
        return np.lexsort((self.run.victims.rows, -rank))

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates, in the order of ``order``."""
        if self.run is None or self.choice is None:
            return ()
        run, choice = self.run, self.choice
        return tuple(self._described_candidate(run, choice, world) for world in self.order.tolist())

    def candidate(self, node: str) -> Candidate:
        """Return one candidate without the computation of the others.

        Parameters
        ----------
        node : str
            The name of a candidate's node, such as one of ``nominated``.
        """
        assert self.run is not None
        assert self.choice is not None
        row = self._cluster.nodes.row[node]
        return self._described_candidate(self.run, self.choice, int(np.flatnonzero(self.run.victims.rows == row)[0]))

    def _described_candidate(self, run: DryRun, choice: Choice, world: int) -> Candidate:
        lost_at = int(choice.lost_at[world])
        has, against = choice.values[lost_at, [world, choice.best[0]]].tolist() if lost_at >= 0 else (0, 0)
        return Candidate(
            self._cluster.nodes.names[run.victims.rows[world]],
            tuple(self._victim(run, entry) for entry in run.victims.entries(world)),
            int(choice.values[0, world]),
            CRITERIA[lost_at] if lost_at >= 0 else "",
            lost_at,
            has,
            against,
        )

    @cached_property
    def coverage(self) -> tuple[Coverage, ...]:
        """The disruption budgets that cover victims."""
        run = self.run
        if run is None or not run.budgets:
            return ()
        victims, violated = run.victims, np.zeros((len(run.budgets), len(run.victims)), dtype=np.bool_)
        if run.violating.any():
            # All pods of lower priority count, also those that are spared.
            lower = lower_priority_pods(self._cluster, run.release, self._pod, victims.rows)
            up_to_first = run.release.counts_up_to_violated_budget
            found = violated_budgets(self._cluster, run.budgets, lower, up_to_first=up_to_first)
            place = {pair: i for i, pair in enumerate(zip(lower.worlds.tolist(), lower.pods.tolist(), strict=True))}
            pairs = zip(victims.worlds.tolist(), victims.pods.tolist(), strict=True)
            # Victims of a group are also on other nodes, where they are none of these pods.
            at = np.array([place.get(pair, -1) for pair in pairs], dtype=np.int64)
            there = np.flatnonzero((at >= 0) & run.violating)
            violated[:, there] = found[:, at[there]]
        out = []
        for number, budget in enumerate(run.budgets):
            entries = np.flatnonzero(budget.covers(self._cluster, victims.pods))
            if len(entries):
                out.append(Coverage(budget, entries, violated[number, entries]))
        return tuple(out)

    @cached_property
    def _budgets(self) -> dict[int, tuple[tuple[Budget, bool], ...]]:
        """The budgets that cover each victim that any covers, and whether its eviction violates them, by entry."""
        out: dict[int, tuple[tuple[Budget, bool], ...]] = {}
        for each in self.coverage:
            for entry, violated in zip(each.entries.tolist(), each.violated.tolist(), strict=True):
                out[entry] = (*out.get(entry, ()), (each.budget, violated))
        return out

    def _victim(self, run: DryRun, entry: int) -> Victim:
        budgets = self._budgets.get(entry, ())
        return Victim(
            int(run.victims.pods[entry]),
            bool(run.violating[entry]),
            tuple(budget for budget, _ in budgets),
            tuple(budget for budget, violated in budgets if violated),
        )

    @cached_property
    def rejected(self) -> dict[str, Status]:
        """The status of each potential node that is not a candidate, by name."""
        if self.run is None:
            return {}
        names = self._cluster.nodes.names
        statuses = self.run.statuses
        return {
            **dict.fromkeys(self._node_names(self.run.without_victims), NO_VICTIMS),
            **{names[row]: statuses.status(int(row)) for row in _filtered_rows(self.run) if statuses.code[row]},
            **{name: Status(Code.ERROR, (_needless(name),)) for name in self._node_names(self.run.needless)},
            **{
                names[row]: Status(Code.UNSCHEDULABLE, (f"the extender {url} rejects it",), EXTENDER_NAME)
                for row, url in self.run.declined.items()
            },
        }

    @property
    def errors(self) -> tuple[str, ...]:
        """The messages of kube-scheduler's internal errors."""
        return dry_run_errors(self._cluster, self.run) if self.run is not None else ()

    def loses_nomination(self, node: str) -> tuple[int, ...]:
        """Return the indices of the pods of lower priority that lose their nomination to a node."""
        return tuple(lower_priority_nominated_pods(self._cluster, self._pod, self._cluster.nodes.row[node]).tolist())

    def shortlist(self, num_candidates: int, offset: int) -> "PreemptionResult":
        """Return the result if not all potential nodes are tried.

        kube-scheduler stops as soon as it has enough candidates and one of them violates no budget. It starts at a
        random node and tries several nodes concurrently.

        Parameters
        ----------
        num_candidates : int
            The number of candidates that is enough.
        offset : int
            The index of the first node among the potential nodes. The others follow in the cluster's order.
        """
        if self.run is None or self.choice is None:
            return self
        run = truncate_dry_run(self.run, num_candidates, offset)
        if run is self.run:
            return self
        choice = pick_one_node_for_preemption(self._cluster.pods, run.victims, run.violations)
        return PreemptionResult(self._cluster, self._pod, self.status, run, choice)


def dry_run_errors(cluster: Cluster, run: DryRun) -> tuple[str, ...]:
    """Return the messages of filters that failed, and of nodes on which the pod fits without evictions."""
    tried = _filtered_rows(run)
    failed = {run.statuses.status(row).message for row in tried[run.statuses.code[tried] == Code.ERROR].tolist()}
    return tuple(sorted(failed | {_needless(cluster.nodes.names[row]) for row in run.needless}))


def _filtered_rows(run: DryRun) -> Rows:
    """Return the nodes that were filtered without their pods of lower priority."""
    return np.setdiff1d(run.looked_at, run.without_victims, assume_unique=True)


def _needless(node: str) -> str:
    return f'expected at least one victim pod on node "{node}"'


class NoLowerPriority(Operands, frozen=True):
    """The node has no pod that preemption could evict."""

    #: The priority of the pod to place; only pods below it can be evicted.
    priority: int

    def words(self) -> str:
        return f"no pod with a priority below {self.priority}"

    def data(self) -> dict[str, Any]:
        return {}


NEVER: Final = "not eligible due to preemptionPolicy=Never."


TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
