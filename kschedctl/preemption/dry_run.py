"""The dry run: for all nodes together, remove every pod of lower priority, then spare one after the other.

Round by round each node takes one victim back, those first whose eviction would break a disruption budget, the most
important first, and keeps it where the pod still fits (upstream ``SelectVictimsOnNode``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array, Mask
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.runtime import Framework
from kschedctl.framework.status import Code
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.preemption.budgets import Budget, budgets, violations
from kschedctl.preemption.worlds import Worlds


@dataclass(frozen=True, slots=True)
class Victims:
    """The victims of all candidate nodes.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_candidates,)
        The candidate nodes.
    world : ndarray of int64, shape (n_victims,)
        The position in ``rows`` of each victim's node, ascending.
    pod : ndarray of int64, shape (n_victims,)
        The victims, by node and then the most important first.
    violating : ndarray of bool, shape (n_victims,)
        Whose eviction breaks a budget.
    """

    rows: Int64Array
    world: Int64Array
    pod: Int64Array
    violating: Mask


@dataclass(frozen=True, slots=True)
class DryRun:
    """What the dry run found.

    Attributes
    ----------
    looked_at : ndarray of int64
        The nodes that were looked at.
    victims : Victims
        The candidates and their victims.
    without_victims : ndarray of int64
        The nodes without any pod of lower priority.
    statuses : NodeStatuses
        What the filters say of the others with all these pods gone; 0 where the pod fits then.
    needless : ndarray of int64
        The nodes on which nobody need be evicted, which the scheduler takes as an internal error.
    budgets : tuple of Budget
        The budgets that were looked at.
    """

    looked_at: Int64Array
    victims: Victims
    without_victims: Int64Array
    statuses: NodeStatuses
    needless: Int64Array
    budgets: tuple[Budget, ...]

    def among(self, rows: Int64Array) -> DryRun:
        """What was found on some of the nodes, ascending."""
        victims = self.victims
        chosen = np.isin(victims.rows, rows)
        kept = chosen[victims.world]
        found = Victims(
            victims.rows[chosen],
            (np.cumsum(chosen) - 1)[victims.world[kept]],
            victims.pod[kept],
            victims.violating[kept],
        )
        return DryRun(
            rows,
            found,
            np.intersect1d(self.without_victims, rows),
            self.statuses,
            np.intersect1d(self.needless, rows),
            self.budgets,
        )


def dry_run(framework: Framework, state: CycleState, pod: Pod, rows: Int64Array) -> DryRun:
    """Find the victims on every node.

    Parameters
    ----------
    framework : Framework
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The preemptor.
    rows : ndarray of int64
        The nodes on which removing pods may help, ascending.
    """
    cluster = framework.cluster
    world, victims = potential_victims(framework, pod, rows)
    has_victims = np.bincount(world, minlength=len(rows)) > 0
    looked_at, without_victims = rows, rows[~has_victims]
    rows, world = rows[has_victims], (np.cumsum(has_victims) - 1)[world]
    worlds = Worlds(framework, state, pod, rows)
    worlds.remove(world, victims)
    statuses = worlds.statuses()
    fits = statuses.code[rows] == Code.SUCCESS
    worlds = worlds.select(fits)
    kept = fits[world]
    rows, world, victims = rows[fits], (np.cumsum(fits) - 1)[world[kept]], victims[kept]
    covering = budgets(cluster)
    violating = violations(cluster, covering, world, victims)
    evicted = ~_reprieve(worlds, world, victims, violating)
    needed = np.bincount(world[evicted], minlength=len(rows)) > 0
    found = Victims(rows[needed], (np.cumsum(needed) - 1)[world[evicted]], victims[evicted], violating[evicted])
    return DryRun(looked_at, found, without_victims, statuses, rows[~needed], covering)


def potential_victims(framework: Framework, pod: Pod, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The pods of lower priority on some nodes.

    Returns
    -------
    world : ndarray of int64, shape (k,)
        Position in ``rows``, ascending.
    pods : ndarray of int64, shape (k,)
        Pod indices, by node and then the most important first.
    """
    pods = framework.cluster.pods
    position = np.full(len(framework.cluster.nodes), -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    ordered = pods.by_importance
    world = position[pods.node_row[ordered]]
    chosen = (world >= 0) & (pods.priority[ordered] < (pod.spec.priority or 0))
    return world[chosen], ordered[chosen]


def _reprieve(worlds: Worlds, world: Int64Array, victims: Int64Array, violating: Mask) -> Mask:
    """Take back one victim of every world a round, and keep it where the pod still fits.

    Parameters
    ----------
    worlds : Worlds
        The worlds, with all victims removed.
    world, victims : ndarray of int64, shape (k,)
        The victims, by world and then the most important first.
    violating : ndarray of bool, shape (k,)
        Whose eviction breaks a budget; they come first.

    Returns
    -------
    ndarray of bool, shape (k,)
        Who is spared.
    """
    order = np.lexsort((~violating, world)) if violating.any() else np.arange(len(world))
    spared = np.zeros(len(world), dtype=np.bool_)
    n_worlds = len(worlds)
    begins = np.searchsorted(world, np.arange(n_worlds))
    lengths = np.bincount(world, minlength=n_worlds)
    alive = np.arange(n_worlds)
    for turn in range(int(lengths.max(initial=0))):
        active = lengths[alive] > turn
        if 2 * int(active.sum()) < len(alive):
            # Worlds that are done only cost time.
            worlds, alive = worlds.select(active), alive[active]
            active = np.ones(len(alive), dtype=np.bool_)
        at = np.flatnonzero(active)
        entries = order[begins[alive[at]] + turn]
        worlds.add(at, victims[entries])
        fits = worlds.passing()[at]
        worlds.remove(at[~fits], victims[entries[~fits]])
        spared[entries[fits]] = True
    return spared
