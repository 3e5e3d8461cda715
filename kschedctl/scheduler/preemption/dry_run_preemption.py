"""The dry run (upstream ``DryRunPreemption``): the victims of preemption on every potential node.

Input: rows of nodes. Output: candidates, which are nodes on which the pod fits once certain pods, the victims, are
evicted. World ``w`` of ``DryRun.victims`` is candidate ``w``; its entries are the candidate's victims.
"""

from collections.abc import Mapping

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Numbering, Overlay, PodsInWorlds, Selection
from kschedctl.cluster.pod_groups import grouped_pods
from kschedctl.common.arrays import Entries, Int64Array, Mask, Rows, Worlds
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.framework.node_statuses import ExtenderVerdict, NodeStatuses
from kschedctl.scheduler.framework.status import Code, Reason, Status
from kschedctl.scheduler.preemption.budgets import Budget, violated_budgets
from kschedctl.scheduler.preemption.victim_units import in_order_of_reprieve, victim_units, violating_pods

# The victims on nodes (upstream ``SelectVictimsOnNode``), for all nodes together.
#
# Remove every pod of lower priority. If the pod fits then, reprieve one victim after the other, one per node and round:
# first the victims whose eviction would violate a disruption budget, by descending importance, then the others. A pod
# stays a victim if the preemptor does not fit with it.
#
# From node rows to pods in worlds. Each step keeps fewer worlds, so there are four lists of worlds, each a selection of
# the one before: the given rows; the rows with a pod of lower priority; the rows on which the preemptor fits without
# these pods; and, during the reprieve, the rows with a victim left to try. All of them are selections of one overlay,
# which also contains the nominated pods.


class SelectedVictims(msgspec.Struct, frozen=True):
    """The victims on each node."""

    #: The victims, sorted by world, then by descending importance. There is a world for every node on which the
    #: pod fits without the pods of lower priority.
    victims: PodsInWorlds
    #: True for victims whose eviction violates a budget.
    violating: Mask
    #: The filters' verdicts without the pods of lower priority, by node row; 0 if the pod fits then.
    statuses: NodeStatuses
    #: The rows of the nodes without any pod of lower priority, which are not filtered.
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

    Args:
        framework: The pod's profile.
        state: The state after PreFilter.
        rows: The rows of the nodes, ascending.
        lower: The pods of lower priority in another order of those that tie; by default tied pods are in the order
            of the snapshot.
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

    Args:
        rows: The rows of the nodes, ascending.

    Returns: One world per row, with its pods by descending importance.
    """
    pods = cluster.pods
    lower = pods.by_importance(ties=release.victim_ties)
    lower = lower[pods.priority[lower] < (pod.spec.priority or 0)]
    here, worlds = Numbering.of(rows, len(cluster.nodes)).find(pods.node_row[lower])
    return PodsInWorlds(rows, worlds, lower[here])


def _reprieve(
    framework: PluginsRunner, state: CycleState, pod: Pod, emptied: Overlay, victims: PodsInWorlds, violating: Mask
) -> Mask:
    """Add back one victim per world and round, and keep it if the preemptor still fits (upstream ``reprievePod``).

    Args:
        framework, state, pod: As in ``select_victims_on_node``.
        emptied: The worlds of ``victims``, with all victims removed. It is modified.
        victims: The victims, sorted by world, then by descending importance.
        violating: True for victims whose eviction violates a budget. They are tried first.

    Returns: True for the reprieved pods.
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


# The victims on nodes with pods of groups (``SelectVictimsOnNode`` since 1.37).
#
# A group with disruption mode *all* is one victim: evicting one of its pods evicts all, also on other nodes. So each
# node needs a state of the whole cluster, and the nodes are tried one by one. Nodes without pods of groups are left to
# ``select_victims_on_node``.


def rows_with_groups(cluster: Cluster, rules: PodGroupRules | None) -> Rows:
    """Return the nodes with pods of groups, for which ``select_units_on_nodes`` finds the victims: rows, ascending."""
    if rules is None or not rules.pods_preempt_whole_groups:
        return np.empty(0, dtype=np.int64)
    rows = np.unique(cluster.pods.node_row[grouped_pods(cluster)])
    on_nodes: Rows = rows[rows >= 0]
    return on_nodes


def select_units_on_nodes(
    framework: PluginsRunner, pod: Pod, rows: Rows, budgets: tuple[Budget, ...], others: SelectedVictims
) -> SelectedVictims:
    """Return the victims on all nodes: those of this module, and those on other nodes.

    Args:
        rows: The nodes to look at, ascending: rows with pods of groups.
    """
    found = {int(row): _on_node(framework, pod, int(row), budgets) for row in rows}
    verdicts = {
        row: ExtenderVerdict(each.status, tuple(map(Reason, each.status.reasons)))
        for row, each in found.items()
        if each is not None
    }
    fitting = {row: each for row, each in found.items() if each is not None and each.status.code is Code.SUCCESS}
    statuses = others.statuses.with_extenders(verdicts, ())
    none = np.array([row for row, each in found.items() if each is None], dtype=np.int64)
    known = others.victims
    parts = {
        int(row): (known.pods[known.entries(world)].tolist(), others.violating[known.entries(world)].tolist())
        for world, row in enumerate(known.rows.tolist())
    }
    parts |= {row: (list(each.pods), list(each.violating)) for row, each in fitting.items()}
    merged = [parts[row] for row in sorted(parts)]
    victims = PodsInWorlds(
        np.array(sorted(parts), dtype=np.int64),
        np.repeat(np.arange(len(merged), dtype=np.int64), [len(pods) for pods, _ in merged]),
        np.array([pod for pods, _ in merged for pod in pods], dtype=np.int64),
    )
    violating = np.array([each for _, flags in merged for each in flags], dtype=np.bool_)
    return SelectedVictims(victims, violating, statuses, np.union1d(others.without_victims, none))


class _OnNode(msgspec.Struct, frozen=True):
    """The verdict on a node without its victims, and the victims in their order."""

    status: Status
    pods: tuple[int, ...] = ()
    violating: tuple[bool, ...] = ()


def _on_node(framework: PluginsRunner, pod: Pod, row: int, budgets: tuple[Budget, ...]) -> _OnNode | None:
    """Return the victims on a node; ``None`` if it has no pod of lower priority."""
    cluster = framework.cluster
    units = victim_units(cluster, cluster.pods.on_node(row), framework.handle.release)
    units = units.take(np.flatnonzero(units.priority < (pod.spec.priority or 0)))
    if not len(units):
        return None
    node = cluster.nodes.names[row]
    status = framework.status_without(pod, node, tuple(units.pods.tolist()))
    if status.code is not Code.SUCCESS:
        return _OnNode(status)
    violating = violating_pods(cluster, units, budgets)
    units = units.take(in_order_of_reprieve(units, violating))
    left = np.ones(len(units), dtype=np.bool_)
    for unit in range(len(units)):
        left[unit] = False
        others = units.pods[left[units.unit_of]]
        left[unit] = framework.status_without(pod, node, tuple(others.tolist())).code is not Code.SUCCESS
    victims = units.take(np.flatnonzero(left))
    pods = victims.take(victims.by_importance()).pods
    return _OnNode(Status(), tuple(pods.tolist()), tuple(violating[pods].tolist()))


class DryRun(msgspec.Struct, frozen=True):
    """The result of the dry run."""

    #: The rows of the nodes that were tried, ascending.
    looked_at: Rows
    #: The candidates and their victims. The rows are the candidates' nodes, ascending. The entries are the
    #: victims, sorted by candidate, then by descending importance. Every candidate has at least one victim.
    victims: PodsInWorlds
    #: True for victims whose eviction violates a budget.
    violating: Mask
    #: The rows of the nodes without any pod of lower priority.
    without_victims: Rows
    #: The filters' results with all pods of lower priority removed, by node row. Only the tried nodes with such
    #: pods were filtered; ``statuses.code`` is 0 where the pod then fits.
    statuses: NodeStatuses
    #: The rows of the nodes on which the pod fits without evictions, which kube-scheduler reports as an internal
    #: error.
    needless: Rows
    #: The budgets that were checked.
    budgets: tuple[Budget, ...]
    release: Release
    #: The number of evictions that violate a budget, if an extender returned it.
    counted: Int64Array | None = None
    #: The rows of the nodes that extenders declined, with the extender's address. They are not candidates.
    declined: Mapping[int, str] = msgspec.field(default_factory=dict)

    @property
    def violations(self) -> Int64Array:
        """The number of evictions that violate a budget, by candidate: int64."""
        if self.counted is not None:
            return self.counted
        return np.bincount(self.victims.worlds[self.violating], minlength=self.victims.n_worlds)

    def among(self, rows: Rows) -> "DryRun":
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

    Args:
        framework: The pod's profile.
        state: The state after PreFilter.
        potential_nodes: The rows of the nodes on which removing pods may help, ascending.
    """
    rules = framework.handle.release.pod_groups
    of_groups = np.intersect1d(potential_nodes, rows_with_groups(framework.cluster, rules), assume_unique=True)
    others = np.setdiff1d(potential_nodes, of_groups, assume_unique=True) if len(of_groups) else potential_nodes
    found = select_victims_on_node(framework, state, pod, others, budgets)
    if len(of_groups):
        found = select_units_on_nodes(framework, pod, of_groups, budgets, found)
    needed = found.victims.counts > 0
    needless, without_victims = found.victims.rows[~needed], found.without_victims
    if not framework.handle.release.needless_preemption_fails:
        needless, without_victims = needless[:0], np.union1d(without_victims, needless)
    return DryRun(
        potential_nodes,
        # Dropped worlds have no entries, so ``violating`` still matches the entries.
        found.victims.among(Numbering.of(np.flatnonzero(needed), len(needed))),
        found.violating,
        without_victims,
        found.statuses,
        needless,
        budgets,
        framework.handle.release,
    )
