"""The victims on nodes (upstream ``SelectVictimsOnNode``), for all nodes together.

Remove every pod of lower priority. Where the pod fits then, spare one victim after the other, round by round: those
first whose eviction would break a disruption budget, the most important first; who keeps the pod from fitting stays a
victim.

From node rows to pods in worlds. The worlds get fewer on the way, so there are four lists of them, each numbering some
of the one before: the rows given; those with a pod of lower priority; those where the pod fits with all these gone;
and, while victims are spared, those where somebody is still to be tried. All of them are selections of one overlay,
which carries the nominated pods along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Entries, Mask, Rows, Worlds
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay, Selection
from kschedctl.cluster.worlds import Numbering, PodsInWorlds
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import PluginsRunner
from kschedctl.framework.status import Code
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.preemption.budgets import Budget, filter_pods_with_pdb_violation


@dataclass(frozen=True, slots=True)
class SelectedVictims:
    """Who has to go on which node.

    Attributes
    ----------
    victims : PodsInWorlds
        The victims, by world and then the most important first. There is a world for every node that the pod fits on
        with all pods of lower priority gone.
    violating : ndarray of bool, shape (n_entries,)
        Whose eviction breaks a budget.
    statuses : NodeStatuses
        By node row, what the filters say with all pods of lower priority gone; 0 where the pod fits then.
    without_victims : ndarray of int64
        The rows of the nodes without any pod of lower priority, which are not asked about.
    """

    victims: PodsInWorlds
    violating: Mask
    statuses: NodeStatuses
    without_victims: Rows


def select_victims_on_node(
    framework: PluginsRunner, state: CycleState, pod: Pod, rows: Rows, budgets: tuple[Budget, ...]
) -> SelectedVictims:
    """Find the smallest number of victims on each of some nodes.

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The preemptor.
    rows : ndarray of int64, shape (n_rows,)
        The nodes, ascending.
    budgets : tuple of Budget
        The disruption budgets.
    """
    lower = lower_priority_pods(framework.cluster, pod, rows)
    has_victims = lower.counts > 0
    emptied = framework.overlay_with_nominated_pods(pod, rows).select(has_victims)
    victims = lower.among(emptied.worlds)
    emptied.overlay.remove(victims.worlds, victims.pods)
    statuses = framework.run_filters_with_nominated_pods(state, pod, emptied.overlay)
    fitting = emptied.overlay.select(statuses.code[emptied.rows] == Code.SUCCESS)
    victims = victims.among(fitting.worlds)
    violating = filter_pods_with_pdb_violation(framework.cluster, budgets, victims)
    evicted = ~_reprieve(framework, state, pod, fitting.overlay, victims, violating)
    return SelectedVictims(victims.keep(evicted), violating[evicted], statuses, rows[~has_victims])


def lower_priority_pods(cluster: Cluster, pod: Pod, rows: Rows) -> PodsInWorlds:
    """The pods that may be evicted for a pod (upstream ``isPreemptionAllowed``) on some nodes.

    Parameters
    ----------
    pod : Pod
        The preemptor.
    rows : ndarray of int64, shape (n_worlds,)
        The nodes, ascending.

    Returns
    -------
    PodsInWorlds
        A world per row; its pods the most important first.
    """
    pods = cluster.pods
    lower = pods.by_importance
    lower = lower[pods.priority[lower] < (pod.spec.priority or 0)]
    here, worlds = Numbering.of(rows, len(cluster.nodes)).find(pods.node_row[lower])
    return PodsInWorlds(rows, worlds, lower[here])


def _reprieve(
    framework: PluginsRunner, state: CycleState, pod: Pod, emptied: Overlay, victims: PodsInWorlds, violating: Mask
) -> Mask:
    """Put one victim of every world back a round, and let it stay where the pod still fits (upstream ``reprievePod``).

    Parameters
    ----------
    framework, state, pod : PluginsRunner, CycleState, Pod
        As in ``select_victims_on_node``.
    emptied : Overlay
        The worlds of ``victims``, with all victims removed. It is changed.
    victims : PodsInWorlds
        The victims, by world and then the most important first.
    violating : ndarray of bool, shape (n_entries,)
        Whose eviction breaks a budget; they come first.

    Returns
    -------
    ndarray of bool, shape (n_entries,)
        Who is spared.
    """
    # Per world the entries in the order in which they are tried; a world's entries stand together.
    order = np.lexsort((~violating, victims.worlds)) if violating.any() else np.arange(len(victims))
    first, counts = victims.first, victims.counts
    spared = np.zeros(len(victims), dtype=np.bool_)
    left = Selection.everything(emptied)
    for turn in range(int(counts.max(initial=0))):
        active = counts[left.originals] > turn
        if 2 * int(active.sum()) < len(left):
            # Worlds that are done only cost time.
            left = left.select(active)
            active = np.ones(len(left), dtype=np.bool_)
        # Of the worlds left those that have a turn, and the entry that is tried in each.
        worlds: Worlds = np.flatnonzero(active)
        entries: Entries = order[first[left.originals[worlds]] + turn]
        left.overlay.add(worlds, victims.pods[entries])
        fits = framework.passing_with_nominated_pods(state, pod, left.overlay)[worlds]
        left.overlay.remove(worlds[~fits], victims.pods[entries[~fits]])
        spared[entries[fits]] = True
    return spared
