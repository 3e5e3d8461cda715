"""The whole of preemption for one pod: may it, where could it, whom would it cost, and which node it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kschedctl.api.pod import Pod, PodStatus
from kschedctl.cluster.labels import Int64
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.message import fit_error
from kschedctl.framework.runtime import Framework
from kschedctl.framework.status import Code, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.preemption.budgets import Budget
from kschedctl.preemption.choice import CRITERIA, Choice, choose
from kschedctl.preemption.dry_run import DryRun, dry_run

NEVER: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


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
    """

    pod: int
    violates: bool
    budgets: tuple[Budget, ...]


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
    """

    node: str
    victims: tuple[Victim, ...]
    n_violations: int
    lost_at: str


@dataclass(frozen=True, slots=True)
class Preemption:
    """What preemption came to.

    Attributes
    ----------
    status : Status
        Success where a node was found.
    attempted : bool
        Whether the dry run took place: the pod may preempt, and removing pods can help on some node.
    candidates : tuple of Candidate
        All nodes that could be made room on, those chance decides among first.
    rejected : mapping of str to Status
        Per node on which removing pods might have helped, why it does not.
    nominated : tuple of str
        The nodes that can be taken; several where chance decides.
    loses_nomination : tuple of int
        Pods of lower priority, by index, that are nominated to one of these nodes and would be so no longer.
    errors : tuple of str
        What the scheduler takes as internal errors.
    """

    status: Status
    attempted: bool = False
    candidates: tuple[Candidate, ...] = ()
    rejected: Mapping[str, Status] = field(default_factory=dict)
    nominated: tuple[str, ...] = ()
    loses_nomination: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()


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
        return Preemption(Status(Code.UNSCHEDULABLE, (problem,)))
    rows = np.flatnonzero(statuses.code == Code.UNSCHEDULABLE)
    n_nodes = len(framework.cluster.nodes)
    if not len(rows):
        return Preemption(_no_candidate(n_nodes, {}))
    run = dry_run(framework, state, pod, rows)
    names = framework.cluster.nodes.names
    rejected = {names[row]: status for row, status in run.rejected.items()}
    errors = tuple(sorted(set(run.errors.values())))
    if not len(run.victims.rows):
        status = Status(Code.ERROR, (", ".join(errors),)) if errors else _no_candidate(n_nodes, run.rejected)
        return Preemption(status, attempted=True, rejected=rejected, errors=errors)
    choice = choose(framework.cluster.pods, run.victims)
    nominated = tuple(sorted(names[row] for row in run.victims.rows[choice.best]))
    return Preemption(
        Status(),
        attempted=True,
        candidates=_candidates(framework, run, choice),
        rejected=rejected,
        nominated=nominated,
        loses_nomination=_losing_nomination(framework, pod, run.victims.rows[choice.best]),
        errors=errors,
    )


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


def _no_candidate(n_nodes: int, rejected: Mapping[int, Status]) -> Status:
    reasons = Counter(reason for status in rejected.values() for reason in status.reasons)
    if n_nodes > len(rejected):
        reasons[NOT_HELPFUL] += n_nodes - len(rejected)
    return Status(Code.UNSCHEDULABLE, (fit_error(n_nodes, pre_filter="", reasons=reasons, post_filter=""),))


def _candidates(framework: Framework, run: DryRun, choice: Choice) -> tuple[Candidate, ...]:
    cluster = framework.cluster
    victims = run.victims
    out = []
    begins = np.searchsorted(victims.world, np.arange(len(victims.rows) + 1))
    # The later a candidate dropped out, the closer it came.
    rank = np.where(choice.lost_at < 0, len(CRITERIA), choice.lost_at)
    for position in np.lexsort((victims.rows, -rank)):
        entries = np.arange(begins[position], begins[position + 1])
        lost_at = int(choice.lost_at[position])
        out.append(
            Candidate(
                cluster.nodes.names[victims.rows[position]],
                tuple(_victim(framework, run, int(entry)) for entry in entries),
                int(choice.values[0, position]),
                CRITERIA[lost_at] if lost_at >= 0 else "",
            )
        )
    return tuple(out)


def _victim(framework: Framework, run: DryRun, entry: int) -> Victim:
    pod = int(run.victims.pod[entry])
    index = np.array([pod], dtype=np.int64)
    covering = tuple(budget for budget in run.budgets if budget.covers(framework.cluster, index)[0])
    return Victim(pod, bool(run.victims.violating[entry]), covering)


def _losing_nomination(framework: Framework, pod: Pod, rows: Int64) -> tuple[int, ...]:
    pods = framework.cluster.pods
    nominated = np.isin(pods.nominated_row, rows) & (pods.priority < (pod.spec.priority or 0))
    return tuple(int(index) for index in np.flatnonzero(nominated))
