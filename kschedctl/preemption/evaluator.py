"""The whole of preemption for one pod: may it, where could it, whom would it cost, and which node it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from kschedctl.api.pod import Pod, PodStatus
from kschedctl.arrays import Int64Array
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.message import fit_error
from kschedctl.framework.runtime import Framework
from kschedctl.framework.status import Code, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.preemption.budgets import Budget
from kschedctl.preemption.choice import CRITERIA, Choice, choose
from kschedctl.preemption.dry_run import DryRun, dry_run, potential_victims

NEVER: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
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


class Preemption:
    """What preemption came to. Candidates are worded when somebody looks.

    Parameters
    ----------
    framework : Framework
        The pod's profile.
    pod : Pod
        The preemptor.
    status : Status
        Success where a node was found.
    run : DryRun, optional
        The dry run; ``None`` where the pod may not preempt, or removing pods can help nowhere.
    choice : Choice, optional
        How the candidates compare; ``None`` without any.
    """

    def __init__(
        self, framework: Framework, pod: Pod, status: Status, run: DryRun | None = None, choice: Choice | None = None
    ) -> None:
        self.status = status
        self.run = run
        self.choice = choice
        self._framework = framework
        self._pod = pod

    @property
    def nominated(self) -> tuple[str, ...]:
        """The nodes that can be taken, by name; several where chance decides."""
        names = self._framework.cluster.nodes.names
        return tuple(sorted(names[row] for row in self._best_rows))

    @property
    def _best_rows(self) -> Int64Array:
        if self.run is None or self.choice is None:
            return np.empty(0, dtype=np.int64)
        return self.run.victims.rows[self.choice.best]

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All nodes that could be made room on; those that chance decides among first, then the closest."""
        if self.run is None or self.choice is None:
            return ()
        # The later a candidate dropped out, the closer it came.
        rank = np.where(self.choice.lost_at < 0, len(CRITERIA), self.choice.lost_at)
        order = np.lexsort((self.run.victims.rows, -rank))
        return tuple(self._candidate(self.run, self.choice, int(position)) for position in order)

    def _candidate(self, run: DryRun, choice: Choice, position: int) -> Candidate:
        victims = run.victims
        begin, end = np.searchsorted(victims.world, (position, position + 1))
        lost_at = int(choice.lost_at[position])
        has, against = choice.values[lost_at, [position, choice.best[0]]].tolist() if lost_at >= 0 else (0, 0)
        return Candidate(
            self._framework.cluster.nodes.names[victims.rows[position]],
            tuple(self._victim(run, entry) for entry in range(begin, end)),
            int(choice.values[0, position]),
            CRITERIA[lost_at] if lost_at >= 0 else "",
            lost_at,
            has,
            against,
        )

    def _victim(self, run: DryRun, entry: int) -> Victim:
        index = run.victims.pod[entry : entry + 1]
        cluster = self._framework.cluster
        covering = tuple(budget for budget in run.budgets if budget.covers(cluster, index)[0])
        violated: tuple[Budget, ...] = ()
        if run.victims.violating[entry]:
            row = run.victims.rows[run.victims.world[entry : entry + 1]]
            _, others = potential_victims(self._framework, self._pod, row)
            violated = tuple(budget for budget in covering if budget.broken_by(cluster, others, int(index[0])))
        return Victim(int(index[0]), bool(run.victims.violating[entry]), covering, violated)

    @cached_property
    def rejected(self) -> dict[str, Status]:
        """Per node on which removing pods might have helped, why it does not."""
        if self.run is None:
            return {}
        names = self._framework.cluster.nodes.names
        statuses = self.run.statuses
        tried = np.setdiff1d(self.run.looked_at, self.run.without_victims)
        return {
            **{names[row]: NO_VICTIMS for row in self.run.without_victims},
            **{names[row]: statuses.status(int(row)) for row in tried if statuses.code[row]},
            **{names[row]: Status(Code.ERROR, (needless(names[row]),)) for row in self.run.needless},
        }

    @property
    def errors(self) -> tuple[str, ...]:
        """What the scheduler takes as internal errors."""
        if self.run is None:
            return ()
        names = self._framework.cluster.nodes.names
        return tuple(sorted(needless(names[row]) for row in self.run.needless))

    def loses_nomination(self, node: str) -> tuple[int, ...]:
        """Pods of lower priority, by index, that are nominated to a node and would be so no longer once it is taken."""
        pods = self._framework.cluster.pods
        priority = self._pod.spec.priority or 0
        lower = (pods.nominated_row == self._framework.cluster.nodes.row[node]) & (pods.priority < priority)
        return tuple(int(index) for index in np.flatnonzero(lower))

    def shortlist(self, least: int, offset: int) -> Preemption:
        """What comes of it where not all nodes are looked at.

        kube-scheduler stops as soon as it has enough candidates and one of them violates no budget. Where it begins,
        and in which order it goes, is chance.

        Parameters
        ----------
        least : int
            How many candidates are enough.
        offset : int
            At which of the nodes on which removing pods may help it begins; from there on the cluster's order.
        """
        if self.run is None or self.choice is None:
            return self
        run = self.run
        order = np.roll(run.looked_at, -offset)
        candidate = np.isin(order, run.victims.rows)
        harmless = np.isin(order, run.victims.rows[self.choice.values[0] == 0])
        enough = np.flatnonzero((np.cumsum(candidate) >= least) & (np.cumsum(harmless) > 0) & candidate)
        if not len(enough):
            return self
        shorter = run.among(np.sort(order[: enough[0] + 1]))
        return Preemption(
            self._framework, self._pod, self.status, shorter, choose(self._framework.cluster.pods, shorter.victims)
        )


def preempt(framework: Framework, state: CycleState, pod: Pod, statuses: NodeStatuses) -> Preemption:
    """Look for a node to make room on.

    Every node is looked at; kube-scheduler stops at a share of them (``minCandidateNodesPercentage``).

    Parameters
    ----------
    framework : Framework
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The pod that fits nowhere.
    statuses : NodeStatuses
        Why each node was turned away.
    """
    problem = ineligible(framework, pod, statuses)
    if problem:
        return Preemption(framework, pod, Status(Code.UNSCHEDULABLE, (problem,)))
    n_nodes = len(framework.cluster.nodes)
    rows = np.flatnonzero(statuses.code == Code.UNSCHEDULABLE)
    if not len(rows):
        return Preemption(framework, pod, _no_candidate(n_nodes, Counter(), 0))
    run = dry_run(framework, state, pod, rows)
    if len(run.victims.rows):
        return Preemption(framework, pod, Status(), run, choose(framework.cluster.pods, run.victims))
    found = Preemption(framework, pod, Status(), run)
    if found.errors:
        text = ", ".join(found.errors)
        found.status = Status(Code.ERROR, (f"[{text}]" if len(found.errors) > 1 else text,))
    else:
        reasons = run.statuses.reason_counts()
        reasons[NO_VICTIMS.reasons[0]] += len(run.without_victims)
        found.status = _no_candidate(n_nodes, +reasons, len(rows))
    return found


def needless(node: str) -> str:
    """The scheduler's words for a node on which nobody need be evicted."""
    return f'expected at least one victim pod on node "{node}"'


def ineligible(framework: Framework, pod: Pod, statuses: NodeStatuses) -> str:
    """Why a pod may not preempt at all (upstream ``PodEligibleToPreemptOthers``); empty where it may."""
    if pod.spec.preemption_policy == "Never":
        return NEVER
    row = framework.cluster.nodes.row.get(pod.status.nominated_node_name)
    if row is None or statuses.code[row] == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    pods = framework.cluster.pods
    for index in pods.on_node(row):
        terminating = pods.records[index].metadata.deletion_timestamp is not None
        lower = pods.priority[index] < (pod.spec.priority or 0)
        if lower and terminating and _evicted_by_scheduler(pods.records[index].status):
            return TERMINATING
    return ""


def _evicted_by_scheduler(status: PodStatus) -> bool:
    """Whether a pod's first DisruptionTarget condition says that it is a victim of preemption."""
    target = next((condition for condition in status.conditions if condition.type == "DisruptionTarget"), None)
    return target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"


def _no_candidate(n_nodes: int, reasons: Counter[str], looked_at: int) -> Status:
    """Unschedulable, with the reasons counted over all nodes."""
    if n_nodes > looked_at:
        reasons[NOT_HELPFUL] += n_nodes - looked_at
    return Status(Code.UNSCHEDULABLE, (fit_error(n_nodes, pre_filter="", reasons=reasons, post_filter=""),))
