"""The victims on nodes with pods of groups (``SelectVictimsOnNode`` since 1.37).

A group with disruption mode *all* is one victim: evicting one of its pods evicts all, also on other nodes. So each node
needs a state of the whole cluster, and the nodes are tried one by one. Nodes without pods of groups are left to
``select_victims_on_node``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.cluster.pod_groups import grouped_pods
from kschedctl.common.arrays import Mask, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.framework.node_statuses import ExtenderVerdict
from kschedctl.scheduler.framework.status import Code, Reason, Status
from kschedctl.scheduler.preemption.budgets import Budget
from kschedctl.scheduler.preemption.select_victims_on_node import SelectedVictims
from kschedctl.scheduler.preemption.victims import VictimUnit, units_in_order_of_reprieve, victim_units


def rows_with_groups(cluster: Cluster, rules: PodGroupRules | None) -> Rows:
    """Return the nodes whose victims have to be found by this module: rows, ascending."""
    if rules is None or not rules.victims_have_group_priority:
        return np.empty(0, dtype=np.int64)
    rows = np.unique(cluster.pods.node_row[grouped_pods(cluster)])
    on_nodes: Rows = rows[rows >= 0]
    return on_nodes


def select_units_on_nodes(
    framework: PluginsRunner,
    pod: Pod,
    rows: Rows,
    budgets: tuple[Budget, ...],
    rules: PodGroupRules,
    others: SelectedVictims,
) -> SelectedVictims:
    """Return the victims on all nodes: those of this module, and those on other nodes.

    Parameters
    ----------
    pod : Pod
        The preemptor.
    rows : ndarray of int64
        The nodes to look at, ascending: rows with pods of groups.
    others : SelectedVictims
        The victims on all other nodes.
    """
    found = {int(row): _on_node(framework, pod, int(row), budgets, rules) for row in rows}
    verdicts = {
        row: ExtenderVerdict(each.status, tuple(map(Reason, each.status.reasons)))
        for row, each in found.items()
        if each is not None
    }
    fitting = {row: each for row, each in found.items() if each is not None and each.status.code is Code.SUCCESS}
    statuses = others.statuses.with_extenders(verdicts, ())
    none = np.array([row for row, each in found.items() if each is None], dtype=np.int64)
    victims, violating = _merged(others, fitting)
    return SelectedVictims(victims, violating, statuses, np.union1d(others.without_victims, none))


@dataclass(frozen=True, slots=True)
class _OnNode:
    """The verdict on a node without its victims, and the victims in their order."""

    status: Status
    pods: tuple[int, ...] = ()
    violating: tuple[bool, ...] = ()


def _on_node(
    framework: PluginsRunner, pod: Pod, row: int, budgets: tuple[Budget, ...], rules: PodGroupRules
) -> _OnNode | None:
    """Return the victims on a node; ``None`` if it has no pod of lower priority."""
    cluster = framework.cluster
    units = [
        unit
        for unit in victim_units(cluster, cluster.pods.on_node(row).tolist(), rules)
        if unit.priority < (pod.spec.priority or 0)
    ]
    if not units:
        return None
    node = cluster.nodes.names[row]
    left: dict[VictimUnit, None] = dict.fromkeys(units)
    status = framework.status_without(pod, node, _pods(left))
    if status.code is not Code.SUCCESS:
        return _OnNode(status)
    order, violating = units_in_order_of_reprieve(cluster, units, budgets)
    for unit in order:
        del left[unit]
        if framework.status_without(pod, node, _pods(left)).code is not Code.SUCCESS:
            left[unit] = None
    pods = _pods(sorted(left, key=lambda unit: unit.importance))
    return _OnNode(Status(), pods, tuple(victim in violating for victim in pods))


def _pods(units: dict[VictimUnit, None] | list[VictimUnit]) -> tuple[int, ...]:
    return tuple(chain.from_iterable(unit.pods for unit in units))


def _merged(others: SelectedVictims, found: dict[int, _OnNode]) -> tuple[PodsInWorlds, Mask]:
    known = others.victims
    parts = {
        int(row): (known.pods[known.entries(world)].tolist(), others.violating[known.entries(world)].tolist())
        for world, row in enumerate(known.rows.tolist())
    }
    parts |= {row: (list(each.pods), list(each.violating)) for row, each in found.items()}
    rows = sorted(parts)
    counts = [len(parts[row][0]) for row in rows]
    worlds = np.repeat(np.arange(len(rows), dtype=np.int64), counts)
    pods = np.array([pod for row in rows for pod in parts[row][0]], dtype=np.int64)
    violating = np.array([each for row in rows for each in parts[row][1]], dtype=np.bool_)
    return PodsInWorlds(np.array(rows, dtype=np.int64), worlds, pods), violating
