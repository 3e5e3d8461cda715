"""What preemption came to for one pod: candidates, victims, and why others are none, in names instead of indices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Rows
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.extender import EXTENDER_NAME
from kschedctl.framework.status import Code, Status
from kschedctl.preemption.budgets import Budget
from kschedctl.preemption.dry_run_preemption import DryRun
from kschedctl.preemption.prepare_candidate import lower_priority_nominated_pods
from kschedctl.preemption.select_candidate import CRITERIA, Choice, pick_one_node_for_preemption
from kschedctl.preemption.select_victims_on_node import lower_priority_pods
from kschedctl.preemption.shortlist import shortlisted

NO_VICTIMS: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("No preemption victims found for incoming pod",))


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that would be evicted.

    Attributes
    ----------
    pod : int
        Its index in ``Cluster.pods``.
    violates : bool
        Whether its eviction breaks a disruption budget.
    budgets : tuple of Budget
        The budgets that cover it.
    violated : tuple of Budget
        Those of them that its eviction breaks, all pods of lower priority on the node counted.
    """

    pod: int
    violates: bool
    budgets: tuple[Budget, ...]
    violated: tuple[Budget, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that evictions would make room on.

    Attributes
    ----------
    node : str
        Its name.
    victims : tuple of Victim
        Whom it would cost, the most important first.
    n_violations : int
        How many evictions break a disruption budget.
    lost_at : str
        The criterion at which it lost against others; empty for those that chance decides among.
    criterion : int
        The index of that criterion; -1 without one.
    has, against : int
        What the candidate and the winner have there, as in ``Choice.values``; 0 without a criterion.
    """

    node: str
    victims: tuple[Victim, ...]
    n_violations: int
    lost_at: str
    criterion: int = -1
    has: int = 0
    against: int = 0


class PreemptionResult:
    """What preemption came to. Candidates are worded when somebody looks.

    Parameters
    ----------
    pod : Pod
        The preemptor.
    status : Status
        Success where a node was found.
    run : DryRun, optional
        The dry run; ``None`` where the pod may not preempt, or removing pods can help nowhere.
    choice : Choice, optional
        How the candidates compare; ``None`` without any.
    clears_nomination : bool
        Whether the pod loses the nomination that it has, as no node can be made room on.
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
        """The nodes that can be taken, by name; several where chance decides."""
        if self.run is None or self.choice is None:
            return ()
        return tuple(sorted(self._names(self.run.victims.rows[self.choice.best])))

    def placement(self, node: str) -> str:
        """What kube-scheduler says of a node that is taken, from 1.37 on.

        Parameters
        ----------
        node : str
            One of ``nominated``.
        """
        n_victims = 0
        if self.run is not None:
            world = self._names(self.run.victims.rows).index(node)
            n_victims = int(self.run.victims.counts[world])
        return f"found a potential placement for pod on node {node}, preempting {n_victims} victims"

    def _names(self, rows: Rows) -> list[str]:
        names = self._cluster.nodes.names
        return [names[row] for row in rows]

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All nodes that could be made room on; those that chance decides among first, then the closest."""
        if self.run is None or self.choice is None:
            return ()
        # The later a candidate dropped out, the closer it came.
        rank = np.where(self.choice.lost_at < 0, len(CRITERIA), self.choice.lost_at)
        order = np.lexsort((self.run.victims.rows, -rank))
        return tuple(self._candidate(self.run, self.choice, world) for world in order.tolist())

    def candidate(self, node: str) -> Candidate:
        """One node that could be made room on; of the others nothing is worded.

        Parameters
        ----------
        node : str
            One of ``nominated``, or another candidate.
        """
        assert self.run is not None
        assert self.choice is not None
        row = self._cluster.nodes.row[node]
        return self._candidate(self.run, self.choice, int(np.flatnonzero(self.run.victims.rows == row)[0]))

    def _candidate(self, run: DryRun, choice: Choice, world: int) -> Candidate:
        lost_at = int(choice.lost_at[world])
        has, against = choice.values[lost_at, [world, choice.best[0]]].tolist() if lost_at >= 0 else (0, 0)
        return Candidate(
            self._cluster.nodes.names[run.victims.rows[world]],
            tuple(self._victim(run, world, entry) for entry in run.victims.entries(world)),
            int(choice.values[0, world]),
            CRITERIA[lost_at] if lost_at >= 0 else "",
            lost_at,
            has,
            against,
        )

    def _victim(self, run: DryRun, world: int, entry: int) -> Victim:
        pod, violates = run.victims.pods[entry], bool(run.violating[entry])
        covering = tuple(budget for budget in run.budgets if budget.covers(self._cluster, pod[None])[0])
        violated: tuple[Budget, ...] = ()
        if violates:
            lower = lower_priority_pods(self._cluster, self._pod, run.victims.rows[world][None]).pods
            violated = tuple(budget for budget in covering if budget.broken_by(self._cluster, lower, int(pod)))
        return Victim(int(pod), violates, covering, violated)

    @cached_property
    def rejected(self) -> dict[str, Status]:
        """Per node on which removing pods might have helped, why it does not."""
        if self.run is None:
            return {}
        names = self._cluster.nodes.names
        statuses = self.run.statuses
        return {
            **dict.fromkeys(self._names(self.run.without_victims), NO_VICTIMS),
            **{names[row]: statuses.status(int(row)) for row in _tried(self.run) if statuses.code[row]},
            **{name: Status(Code.ERROR, (_needless(name),)) for name in self._names(self.run.needless)},
            **{names[row]: _declined(url) for row, url in self.run.declined.items()},
        }

    @property
    def errors(self) -> tuple[str, ...]:
        """What the scheduler takes as internal errors."""
        return dry_run_errors(self._cluster, self.run) if self.run is not None else ()

    def loses_nomination(self, node: str) -> tuple[int, ...]:
        """Pods of lower priority, by index, that are nominated to a node and would be so no longer once it is taken."""
        row = self._cluster.nodes.row[node]
        return tuple(lower_priority_nominated_pods(self._cluster, self._pod, row).tolist())

    def shortlist(self, num_candidates: int, offset: int) -> PreemptionResult:
        """What comes of it where not all nodes are looked at.

        kube-scheduler stops as soon as it has enough candidates and one of them violates no budget. Where it begins,
        and in which order it goes, is chance.

        Parameters
        ----------
        num_candidates : int
            How many candidates are enough.
        offset : int
            At which of the nodes on which removing pods may help it begins; from there on the cluster's order.
        """
        if self.run is None or self.choice is None:
            return self
        run = shortlisted(self.run, num_candidates, offset)
        if run is self.run:
            return self
        choice = pick_one_node_for_preemption(self._cluster.pods, run.victims, run.violations)
        return PreemptionResult(self._cluster, self._pod, self.status, run, choice)


def dry_run_errors(cluster: Cluster, run: DryRun) -> tuple[str, ...]:
    """The scheduler's words for filters that end in an error, and for nodes on which nobody need be evicted."""
    failed = {run.statuses.status(int(row)).message for row in _tried(run) if run.statuses.code[row] == Code.ERROR}
    return tuple(sorted(failed | {_needless(cluster.nodes.names[row]) for row in run.needless}))


def _tried(run: DryRun) -> Rows:
    """The nodes that the filters were asked about with the victims gone."""
    return np.setdiff1d(run.looked_at, run.without_victims)


def _declined(url: str) -> Status:
    """Our own words: kube-scheduler has none for it."""
    return Status(Code.UNSCHEDULABLE, (f"the extender {url} declines it",), EXTENDER_NAME)


def _needless(node: str) -> str:
    return f'expected at least one victim pod on node "{node}"'
