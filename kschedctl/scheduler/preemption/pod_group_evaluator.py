"""Preemption for a whole pod group (upstream ``PodGroupEvaluator``; KEP-5710).

All units of lower priority are removed from the cluster, and the whole group is tried again. If it fits, the units are
put back one by one as long as the group still fits: those that a budget protects first, more important ones earlier.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Numbering, PodsInWorlds
from kschedctl.cluster.records import LOST
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import GROUP_PREEMPTION_POLICY, PodGroupRules
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginsRunner, PodGroupPostFilterResult, PodGroupTrial
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.dry_run_preemption import (
    VictimUnit,
    pod_priority,
    units_in_order_of_reprieve,
    victim_units,
)
from kschedctl.scheduler.preemption.evaluator import evicted_by_scheduler
from kschedctl.scheduler.preemption.result import NEVER

NO_VICTIMS: Final = "No preemption victims found for incoming preemptor"
ONGOING: Final = "ongoing preemption on nominated nodes"
_NEVER: Final = "Never"
#: A node that no cluster has: a pod there counts for its group and occupies nothing.
_NOWHERE: Final = "\0"


def preempt_for_pod_group(
    framework: PluginsRunner, group: PodGroupInfo, trial: PodGroupTrial
) -> PodGroupPostFilterResult:
    """Find the pods to evict so that a group fits.

    Args:
        framework: The profile of the group.
        trial: Tries the group in changed clusters.

    Returns: Success with the victims and the nominated nodes; or the reason why preemption does not help.
    """
    cluster, release = framework.cluster, framework.handle.release
    rules = release.pod_groups
    assert rules is not None
    if _may_not_preempt(release, group):
        return PodGroupPostFilterResult(Status(Code.UNSCHEDULABLE, (NEVER,)))
    if rules.queues_groups and _is_ongoing(cluster, group, rules):
        nominated = {pod.key: pod.status.nominated_node_name for pod in group.unscheduled}
        return PodGroupPostFilterResult(Status(Code.SUCCESS, (ONGOING,)), nominated)
    everything = victim_units(cluster, cluster.pods.assigned.tolist(), release)
    units = [unit for unit in everything if unit.priority < group.priority]
    if not units:
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if rules.no_victims_is_final else Code.UNSCHEDULABLE
        return PodGroupPostFilterResult(Status(code, (NO_VICTIMS,)))
    removed = [pod for unit in units for pod in unit.pods]
    own = set() if rules.victims_are_counted else set(group.scheduled(cluster).tolist())
    moved = [_on(pod, _NOWHERE) for pod in _pods_on_nodes(cluster, own.intersection(removed))]
    emptied = cluster.with_pods(removed=[pod for pod in removed if pod not in own], added=moved)
    budgets = get_pod_disruption_budgets(cluster, empty_protects=release.empty_budget_selector_protects)
    order, violating = units_in_order_of_reprieve(cluster, units, budgets)
    condemned = CondemnedUnits.of(cluster, order, violating) if rules.ranks_nodes else None
    status, proposed = trial.run(emptied, condemned)
    if status.code is not Code.SUCCESS:
        return PodGroupPostFilterResult(status)
    states = trial.states_on_own_nodes(emptied, proposed) if rules.stays_on_nodes else None
    if states is not None:
        victims = _left_over_on_nodes(framework, order, proposed, states)
    else:
        victims = _left_over(cluster, emptied, order, trial, proposed, rules)
    if not rules.ranks_nodes:
        victims.sort(key=lambda unit: unit.importance)
    pods = tuple(pod for unit in victims for pod in unit.pods)
    said = (f"found a placement for podgroup, preempting {len(pods)} victims",) if rules.says_preemption else ()
    nominated = {pod.key: node for pod, node in proposed}
    return PodGroupPostFilterResult(Status(Code.SUCCESS, said), nominated, pods)


#: The cost of the victims on a node: that there are any, the broken budgets, their priorities, and their number.
_Cost: TypeAlias = tuple[bool, int, tuple[tuple[int, int], ...], int, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class CondemnedUnits:
    """The units on every node without those that are evicted for a member already (``PodGroupPreemptionState``).

    A member prefers the nodes without other victims, then those with the cheapest ones (``CompareVictimSets``).
    """

    #: The units that are left with a pod on a node, the most important first, by node row.
    left: Mapping[int, Sequence[VictimUnit]]
    #: The node row of each pod.
    node_row: Rows
    #: The pods whose eviction breaks a budget.
    violating: frozenset[int]
    #: The number of what the units of each node cost: int64, shape (n_nodes,).
    costs: Int64Array
    #: The numbers of all costs so far, which all states of an attempt share.
    numbers: dict[_Cost, int]

    @classmethod
    def of(cls, cluster: Cluster, order: Sequence[VictimUnit], violating: frozenset[int]) -> Self:
        """Return the state before the first member, with units in the order of reprieve."""
        on_node: dict[int, list[VictimUnit]] = {}
        rows_of = cluster.pods.node_row.tolist()
        # The order differs from that of importance only if evictions break a budget.
        for unit in sorted(order, key=lambda unit: unit.importance) if violating else order:
            for row in {rows_of[pod] for pod in unit.pods} - {LOST}:
                on_node.setdefault(row, []).append(unit)
        costs, numbers = np.zeros(len(cluster.nodes), dtype=np.int64), {_cost((), violating): 0}
        for row, there in on_node.items():
            costs[row] = numbers.setdefault(_cost(there, violating), len(numbers))
        return cls(on_node, cluster.pods.node_row, violating, costs, numbers)

    def cheapest(self, rows: Rows) -> Rows:
        own, costs = self.costs[rows], tuple(self.numbers)
        kept: Rows = rows[own == min(np.unique(own).tolist(), key=costs.__getitem__)]
        return kept

    def after(self, row: int) -> "CondemnedUnits":
        condemned = set(self.left.get(row, ()))
        left, costs = {**self.left}, self.costs.copy()
        for other in left.keys() & set(self.node_row[[pod for unit in condemned for pod in unit.pods]].tolist()):
            left[other] = [unit for unit in left[other] if unit not in condemned]
            cost = _cost(left[other], self.violating)
            costs[other] = self.numbers.setdefault(cost, len(self.numbers))
        return dataclasses.replace(self, left=left, costs=costs)


def _cost(units: Sequence[VictimUnit], violating: frozenset[int]) -> _Cost:
    by_priority: dict[int, int] = {}
    for unit in units:
        by_priority[unit.priority] = by_priority.get(unit.priority, 0) + len(unit.pods)
    return (
        bool(units),
        sum(len(violating.intersection(unit.pods)) for unit in units) if violating else 0,
        tuple(by_priority.items()),
        sum(by_priority.values()),
        tuple([(unit.rank, len(unit.pods)) for unit in units]),
    )


def _left_over(
    cluster: Cluster,
    emptied: Cluster,
    order: Sequence[VictimUnit],
    trial: PodGroupTrial,
    proposed: Sequence[tuple[Pod, str]],
    rules: PodGroupRules,
) -> list[VictimUnit]:
    """Put units back in order as long as the group still fits; return those that cannot come back."""
    victims = []
    for unit in order:
        trying = emptied.with_pods(added=_pods_on_nodes(cluster, unit.pods))
        if trial.fits(trying, proposed) if rules.stays_on_nodes else trial.run(trying)[0].code is Code.SUCCESS:
            emptied = trying
        else:
            victims.append(unit)
    return victims


# Only the nodes with members matter, and each for itself, if the pods of a node alone decide whether members fit there.
# So units are put back in rounds: in each the next unit of every node, all of them together.


def _left_over_on_nodes(
    framework: PluginsRunner,
    order: Sequence[VictimUnit],
    proposed: Sequence[tuple[Pod, str]],
    states: Sequence[CycleState],
) -> list[VictimUnit]:
    """Do the same where the pods of a node alone decide whether members fit there."""
    pods = framework.cluster.pods
    members = _MembersOnNodes(framework, proposed, states)
    row_of = {pod: row for row in members.rows.tolist() for pod in pods.on_node(row).tolist()}
    here = [(unit, [pod for pod in unit.pods if pod in row_of]) for unit in order]
    gone = np.zeros(len(pods), dtype=np.bool_)
    gone[[pod for _, back in here for pod in back]] = True
    if not members.fitting(members.rows, gone)[members.rows].all():
        # Nominated pods may keep members from the nodes that they found; then no unit can come back.
        return list(order)
    rounds: list[list[tuple[VictimUnit, list[int]]]] = []
    n_rounds = dict.fromkeys(row_of.values(), 0)
    for unit, back in here:
        if back:
            rows = {row_of[pod] for pod in back}
            turn = max(n_rounds[row] for row in rows)
            if turn == len(rounds):
                rounds.append([])
            rounds[turn].append((unit, back))
            n_rounds.update(dict.fromkeys(rows, turn + 1))
    refused: set[VictimUnit] = set()
    for units in rounds:
        together = [pod for _, back in units for pod in back]
        gone[together] = False
        fits = members.fitting(np.unique(pods.node_row[together]), gone)
        for unit, back in units:
            if not fits[pods.node_row[back]].all():
                refused.add(unit)
                gone[back] = True
    return [unit for unit in order if unit in refused]


class _Step(NamedTuple):
    """Members that are alike, at most one per node, and the place of each among the members of its node."""

    pod: Pod
    state: CycleState
    #: The members that are placed before it: a world per member, by ascending row of its node.
    before: PodsInWorlds


class _MembersOnNodes:
    """The members of a group on their nodes, where the pods of a node alone decide whether they fit.

    rows: The nodes, ascending.

    Args:
        states: The state of each member after PreFilter; members that are alike share one.
    """

    def __init__(
        self, framework: PluginsRunner, proposed: Sequence[tuple[Pod, str]], states: Sequence[CycleState]
    ) -> None:
        self._framework = framework
        cluster = framework.cluster
        on_node: dict[int, list[int]] = {}
        # The members by their place among those of their node, and by what they are alike in.
        alike: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
        kinds = {id(state): (pod, state) for (pod, _), state in zip(proposed, states, strict=True)}
        for (pod, node), state in zip(proposed, states, strict=True):
            row = cluster.nodes.row[node]
            before = on_node.get(row, [])
            alike.setdefault((len(before), id(state)), []).append((row, before))
            on_node[row] = [*before, cluster.pods.index[pod.metadata.namespace, pod.metadata.name]]
        self.rows: Rows = np.array(sorted(on_node), dtype=np.int64)
        self._steps = []
        for (place, kind), there in sorted(alike.items(), key=lambda each: each[0][0]):
            there.sort()
            rows = np.array([row for row, _ in there], dtype=np.int64)
            worlds = np.repeat(np.arange(len(there), dtype=np.int64), place)
            placed = np.array([pod for _, before in there for pod in before], dtype=np.int64)
            self._steps.append(_Step(*kinds[kind], PodsInWorlds(rows, worlds, placed)))

    def fitting(self, rows: Rows, gone: Mask) -> Mask:
        """Return the nodes on which all members fit one after the other: bool, shape (n_nodes,).

        Args:
            rows: The nodes to look at, ascending.
            gone: True for the pods that are not there.
        """
        framework, node_row = self._framework, self._framework.cluster.pods.node_row
        fits = np.zeros(len(framework.cluster.nodes), dtype=np.bool_)
        fits[rows] = True
        removed = np.flatnonzero(gone)
        for step in self._steps:
            chosen = np.flatnonzero(fits[step.before.rows])
            if not len(chosen):
                continue
            before = step.before.among(Numbering.of(chosen, step.before.n_worlds))
            worlds = framework.overlay_with_nominated_pods(step.pod, before.rows)
            there, where = Numbering.of(before.rows, len(fits)).find(node_row[removed])
            worlds.remove(where, removed[there])
            worlds.add(before.worlds, before.pods)
            statuses = framework.run_filters_with_nominated_pods(step.state, step.pod, worlds)
            fits[before.rows] = statuses.code[before.rows] == Code.SUCCESS
        return fits


def _may_not_preempt(release: Release, group: PodGroupInfo) -> bool:
    """Report whether the preemption policy of the group, or of one of its members, is Never."""
    rules = release.pod_groups
    if release.enabled(GROUP_PREEMPTION_POLICY):
        return group.preemption_policy == _NEVER
    if rules is not None and rules.checks_hierarchy and group.preemption_policy:
        return group.preemption_policy == _NEVER
    return any(pod.spec.preemption_policy == _NEVER for pod in group.unscheduled)


def _is_ongoing(cluster: Cluster, group: PodGroupInfo, rules: PodGroupRules) -> bool:
    """Report whether a pod of lower priority still terminates on a nominated node of the group."""
    nodes = {pod.status.nominated_node_name for pod in group.unscheduled} & set(cluster.nodes.row)
    return any(
        cluster.pods.records[pod].metadata.deletion_timestamp is not None
        and pod_priority(cluster, pod, rules) < group.priority
        and evicted_by_scheduler(cluster.pods.records[pod].status)
        for node in nodes
        for pod in cluster.pods.on_node(cluster.nodes.row[node]).tolist()
    )


def _pods_on_nodes(cluster: Cluster, pods: Iterable[int]) -> list[Pod]:
    return [_on(cluster.pods.pod(pod), cluster.pods.records[pod].node_name) for pod in pods]


def _on(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))
