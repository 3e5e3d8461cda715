"""The dry run: for all nodes together, remove every pod of lower priority, then spare one after the other.

Round by round each node takes one victim back, those first whose eviction would break a disruption budget, the most
important first, and keeps it where the pod still fits (upstream ``SelectVictimsOnNode``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.cluster.labels import Int64, Mask
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.runtime import Framework
from kschedctl.framework.status import Code, Status
from kschedctl.preemption.budgets import Budget, budgets, violations
from kschedctl.preemption.worlds import Worlds

NO_VICTIMS: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("No preemption victims found for incoming pod",))


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

    rows: Int64
    world: Int64
    pod: Int64
    violating: Mask


@dataclass(frozen=True, slots=True)
class DryRun:
    """What the dry run found.

    Attributes
    ----------
    victims : Victims
        The candidates and their victims.
    rejected : mapping of int to Status
        Per node row why removing pods does not help there.
    errors : mapping of int to str
        Per node row what the scheduler takes as an internal error: that nobody need be evicted.
    budgets : tuple of Budget
        The budgets that were looked at.
    """

    victims: Victims
    rejected: Mapping[int, Status]
    errors: Mapping[int, str]
    budgets: tuple[Budget, ...]


def dry_run(framework: Framework, state: CycleState, pod: Pod, rows: Int64) -> DryRun:
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
        The nodes on which removing pods may help.
    """
    cluster = framework.cluster
    world, victims = potential_victims(framework, pod, rows)
    rejected = {int(row): NO_VICTIMS for row in np.delete(rows, np.unique(world))}
    rows, world = rows[np.unique(world)], np.unique(world, return_inverse=True)[1]
    worlds = Worlds(framework, state, pod, rows)
    worlds.remove(world, victims)
    statuses = worlds.statuses()
    passed = statuses.code[rows] == Code.SUCCESS
    rejected |= {int(row): statuses.status(int(row)) for row in rows[~passed]}
    worlds = worlds.select(passed)
    kept = passed[world]
    rows, world, victims = rows[passed], (np.cumsum(passed) - 1)[world[kept]], victims[kept]
    covering = budgets(cluster)
    violating = violations(cluster, covering, world, victims)
    spared = _reprieve(worlds, world, victims, violating)
    evicted = ~spared
    with_victims = np.zeros(len(rows), dtype=np.bool_)
    with_victims[world[evicted]] = True
    errors = {
        int(row): f'expected at least one victim pod on node "{cluster.nodes.names[row]}"'
        for row in rows[~with_victims]
    }
    rejected |= {row: Status(Code.ERROR, (text,)) for row, text in errors.items()}
    found = Victims(
        rows[with_victims],
        (np.cumsum(with_victims) - 1)[world[evicted]],
        victims[evicted],
        violating[evicted],
    )
    return DryRun(found, rejected, errors, covering)


def potential_victims(framework: Framework, pod: Pod, rows: Int64) -> tuple[Int64, Int64]:
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
    world, victims = world[chosen], ordered[chosen]
    if len(rows) > 1 and (np.diff(rows) < 0).any():
        order = np.argsort(world, kind="stable")
        world, victims = world[order], victims[order]
    return world, victims


def _reprieve(worlds: Worlds, world: Int64, victims: Int64, violating: Mask) -> Mask:
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
