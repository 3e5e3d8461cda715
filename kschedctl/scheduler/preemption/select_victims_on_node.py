"""The victims on nodes (upstream ``SelectVictimsOnNode``), for all nodes together.

Remove every pod of lower priority. If the pod fits then, reprieve one victim after the other, one per node and round:
first the victims whose eviction would violate a disruption budget, by descending importance, then the others. A pod
stays a victim if the preemptor does not fit with it.

From node rows to pods in worlds. Each step keeps fewer worlds, so there are four lists of worlds, each a selection of
the one before: the given rows; the rows with a pod of lower priority; the rows on which the preemptor fits without
these pods; and, during the reprieve, the rows with a victim left to try. All of them are selections of one overlay,
which also contains the nominated pods.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Numbering, Overlay, PodsInWorlds, Selection
from kschedctl.common.arrays import Entries, Mask, Rows, Worlds
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.preemption.budgets import Budget, violated_budgets


@dataclass(frozen=True, slots=True)
class SelectedVictims:
    """The victims on each node.

    Attributes
    ----------
    victims : PodsInWorlds
        The victims, sorted by world, then by descending importance. There is a world for every node on which the pod
        fits without the pods of lower priority.
    violating : ndarray of bool, shape (n_entries,)
        True for victims whose eviction violates a budget.
    statuses : NodeStatuses
        The filters' verdicts without the pods of lower priority, by node row; 0 if the pod fits then.
    without_victims : ndarray of int64
        The rows of the nodes without any pod of lower priority, which are not filtered.
    """

    victims: PodsInWorlds
    violating: Mask
    statuses: NodeStatuses
    without_victims: Rows


def select_victims_on_node(
    framework: PluginsRunner,
    state: CycleState,
    pod: Pod,
    rows: Rows,
    budgets: tuple[Budget, ...],
    lower: PodsInWorlds | None = None,
) -> SelectedVictims:
    """Find the victims on each of some nodes.

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The preemptor.
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes, ascending.
    budgets : tuple of Budget
        The disruption budgets.
    lower : PodsInWorlds, optional
        The pods of lower priority in another order of those that tie; by default tied pods are in the order of the
        snapshot.
    """
    lower = lower_priority_pods(framework.cluster, framework.handle.release, pod, rows) if lower is None else lower
    has_victims = lower.counts > 0
    emptied = framework.overlay_with_nominated_pods(pod, rows).select(has_victims)
    victims = lower.among(emptied.worlds)
    emptied.overlay.remove(victims.worlds, victims.pods)
    statuses = framework.run_filters_with_nominated_pods(state, pod, emptied.overlay)
    fitting = emptied.overlay.select(statuses.code[emptied.rows] == Code.SUCCESS)
    victims = victims.among(fitting.worlds)
    up_to_first = framework.handle.release.counts_up_to_violated_budget
    violated = violated_budgets(framework.cluster, budgets, victims, up_to_first=up_to_first)
    violating: Mask = np.logical_or.reduce(violated)
    evicted = ~_reprieve(framework, state, pod, fitting.overlay, victims, violating)
    return SelectedVictims(victims.keep(evicted), violating[evicted], statuses, rows[~has_victims])


def lower_priority_pods(cluster: Cluster, release: Release, pod: Pod, rows: Rows) -> PodsInWorlds:
    """Return the pods on some nodes that may be evicted for a pod (upstream ``isPreemptionAllowed``).

    Parameters
    ----------
    pod : Pod
        The preemptor.
    rows : ndarray of int64, shape (n_worlds,)
        The rows of the nodes, ascending.

    Returns
    -------
    PodsInWorlds
        One world per row, with its pods by descending importance.
    """
    pods = cluster.pods
    lower = pods.by_importance(unstarted_in_order=release.unstarted_in_order)
    lower = lower[pods.priority[lower] < (pod.spec.priority or 0)]
    here, worlds = Numbering.of(rows, len(cluster.nodes)).find(pods.node_row[lower])
    return PodsInWorlds(rows, worlds, lower[here])


def _reprieve(
    framework: PluginsRunner, state: CycleState, pod: Pod, emptied: Overlay, victims: PodsInWorlds, violating: Mask
) -> Mask:
    """Add back one victim per world and round, and keep it if the preemptor still fits (upstream ``reprievePod``).

    Parameters
    ----------
    framework, state, pod : PluginsRunner, CycleState, Pod
        As in ``select_victims_on_node``.
    emptied : Overlay
        The worlds of ``victims``, with all victims removed. It is modified.
    victims : PodsInWorlds
        The victims, sorted by world, then by descending importance.
    violating : ndarray of bool, shape (n_entries,)
        True for victims whose eviction violates a budget. They are tried first.

    Returns
    -------
    ndarray of bool, shape (n_entries,)
        True for the reprieved pods.
    """
    # The entries in the order in which they are tried, grouped by world.
    order = np.lexsort((~violating, victims.worlds)) if violating.any() else np.arange(len(victims))
    first, counts = victims.first, victims.counts
    spared = np.zeros(len(victims), dtype=np.bool_)
    left = Selection.everything(emptied)
    for turn in range(int(counts.max(initial=0))):
        active = counts[left.originals] > turn
        if 2 * int(active.sum()) < len(left):
            # Drop finished worlds to save time.
            left = left.select(active)
            active = np.ones(len(left), dtype=np.bool_)
        # The worlds with a victim left to try, and the entry that is tried in each.
        worlds: Worlds = np.flatnonzero(active)
        entries: Entries = order[first[left.originals[worlds]] + turn]
        left.overlay.add(worlds, victims.pods[entries])
        fits = framework.passing_with_nominated_pods(state, pod, left.overlay)[worlds]
        left.overlay.remove(worlds[~fits], victims.pods[entries[~fits]])
        spared[entries[fits]] = True
    return spared
