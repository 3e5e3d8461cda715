"""The dry run (upstream ``DryRunPreemption``): the victims of preemption on every potential node.

Input: rows of nodes. Output: candidates, which are nodes on which the pod fits once certain pods, the victims, are
evicted. World ``w`` of ``DryRun.victims`` is candidate ``w``; its entries are the candidate's victims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kschedctl.cluster.overlay import Numbering, PodsInWorlds
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.preemption.budgets import Budget
from kschedctl.scheduler.preemption.select_units_on_node import rows_with_groups, select_units_on_nodes
from kschedctl.scheduler.preemption.select_victims_on_node import select_victims_on_node


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of the dry run.

    Attributes
    ----------
    looked_at : ndarray of int64
        The rows of the nodes that were tried, ascending.
    victims : PodsInWorlds
        The candidates and their victims. The rows are the candidates' nodes, ascending. The entries are the victims,
        sorted by candidate, then by descending importance. Every candidate has at least one victim.
    violating : ndarray of bool, shape (n_entries,)
        True for victims whose eviction violates a budget.
    without_victims : ndarray of int64
        The rows of the nodes without any pod of lower priority.
    statuses : NodeStatuses
        The filters' results with all pods of lower priority removed, by node row. Only the tried nodes with such pods
        were filtered; ``statuses.code`` is 0 where the pod then fits.
    needless : ndarray of int64
        The rows of the nodes on which the pod fits without evictions, which kube-scheduler reports as an internal
        error.
    budgets : tuple of Budget
        The budgets that were checked.
    release : Release
        The rules of the release.
    counted : ndarray of int64, shape (n_candidates,), optional
        The number of evictions that violate a budget, if an extender returned it.
    declined : mapping of int to str
        The rows of the nodes that extenders declined, with the extender's address. They are not candidates.
    """

    looked_at: Rows
    victims: PodsInWorlds
    violating: Mask
    without_victims: Rows
    statuses: NodeStatuses
    needless: Rows
    budgets: tuple[Budget, ...]
    release: Release
    counted: Int64Array | None = None
    declined: Mapping[int, str] = field(default_factory=dict)

    @property
    def violations(self) -> Int64Array:
        """The number of evictions that violate a budget, by candidate: int64."""
        if self.counted is not None:
            return self.counted
        return np.bincount(self.victims.worlds[self.violating], minlength=self.victims.n_worlds)

    def among(self, rows: Rows) -> DryRun:
        """Return the result on some of the nodes, given as ascending rows."""
        victims = self.victims
        candidates = Numbering.of(np.flatnonzero(np.isin(victims.rows, rows)), victims.n_worlds)
        kept, _ = candidates.find(victims.worlds)
        return DryRun(
            rows,
            victims.among(candidates),
            self.violating[kept],
            np.intersect1d(self.without_victims, rows, assume_unique=True),
            self.statuses,
            np.intersect1d(self.needless, rows),
            self.budgets,
            self.release,
            self.counted[candidates.originals] if self.counted is not None else None,
            {row: url for row, url in self.declined.items() if row in rows},
        )


def dry_run_preemption(
    framework: PluginsRunner, state: CycleState, pod: Pod, potential_nodes: Rows, budgets: tuple[Budget, ...]
) -> DryRun:
    """Find the candidates and their victims.

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The preemptor.
    potential_nodes : ndarray of int64
        The rows of the nodes on which removing pods may help, ascending.
    budgets : tuple of Budget
        The disruption budgets.
    """
    rules = framework.handle.release.pod_groups
    of_groups = np.intersect1d(potential_nodes, rows_with_groups(framework.cluster, rules), assume_unique=True)
    others = np.setdiff1d(potential_nodes, of_groups, assume_unique=True) if len(of_groups) else potential_nodes
    found = select_victims_on_node(framework, state, pod, others, budgets)
    if rules is not None and len(of_groups):
        found = select_units_on_nodes(framework, pod, of_groups, budgets, rules, found)
    needed = found.victims.counts > 0
    return DryRun(
        potential_nodes,
        # Dropped worlds have no entries, so ``violating`` still matches the entries.
        found.victims.among(Numbering.of(np.flatnonzero(needed), len(needed))),
        found.violating,
        found.without_victims,
        found.statuses,
        found.victims.rows[~needed],
        budgets,
        framework.handle.release,
    )
