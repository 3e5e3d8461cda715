"""Preemption for a whole pod group (upstream ``PodGroupEvaluator``; KEP-5710).

All units of lower priority are removed from the cluster, and the whole group is tried again. If it fits, the units are
put back one by one as long as the group still fits: those that a budget protects first, more important ones earlier.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Numbering, PodsInWorlds
from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows, numbered_together
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import GROUP_PREEMPTION_POLICY, PodGroupRules
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginsRunner, PodGroupPostFilterResult
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo, PodGroupTrial
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.evaluator import evicted_by_scheduler
from kschedctl.scheduler.preemption.result import NEVER
from kschedctl.scheduler.preemption.victim_units import (
    VictimUnits,
    in_order_of_reprieve,
    pod_priority,
    victim_units,
    violating_pods,
)

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
    everything = victim_units(cluster, cluster.pods.assigned, release)
    units = everything.take(np.flatnonzero(everything.priority < group.priority))
    if not len(units):
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if rules.no_victims_is_final else Code.UNSCHEDULABLE
        return PodGroupPostFilterResult(Status(code, (NO_VICTIMS,)))
    stays = np.zeros(len(cluster.pods), dtype=np.bool_)
    if not rules.victims_are_counted:
        stays[group.scheduled(cluster)] = True
    own = stays[units.pods]
    moved = [_on(pod, _NOWHERE) for pod in _pods_on_nodes(cluster, units.pods[own])]
    emptied = cluster.with_pods(removed=units.pods[~own].tolist(), added=moved)
    budgets = get_pod_disruption_budgets(cluster, empty_protects=release.empty_budget_selector_protects)
    violating = violating_pods(cluster, units, budgets)
    condemned = CondemnedUnits.of(cluster, units, violating) if rules.ranks_nodes else None
    status, proposed = trial.run(emptied, condemned)
    if status.code is not Code.SUCCESS:
        return PodGroupPostFilterResult(status)
    states = trial.states_on_own_nodes(emptied, proposed) if rules.stays_on_nodes else None
    if states is not None:
        victims = _left_over_on_nodes(framework, units, violating, proposed, states)
    else:
        order = units.take(in_order_of_reprieve(units, violating))
        victims = _left_over(cluster, emptied, order, trial, proposed, rules)
    if not rules.ranks_nodes:
        victims = victims.take(victims.by_importance())
    n_victims = len(victims.pods)
    said = (f"found a placement for podgroup, preempting {n_victims} victims",) if rules.says_preemption else ()
    nominated = {pod.key: node for pod, node in proposed}
    return PodGroupPostFilterResult(Status(Code.SUCCESS, said), nominated, tuple(victims.pods.tolist()))


#: The cost of the victims on a node: that there are any, the broken budgets, their priorities, and their number.
_Cost: TypeAlias = tuple[bool, int, tuple[tuple[int, int], ...], int, tuple[tuple[int, int], ...]]


class _Kind(NamedTuple):
    """The values of a unit that make up the cost of a node."""

    priority: int
    rank: int
    n_pods: int
    n_violating: int


class _Costs:
    """The numbers of what the units of nodes cost."""

    def __init__(self, kinds: Sequence[_Kind]) -> None:
        self._kinds = kinds
        self._known: dict[bytes, int] = {}
        self._numbers: dict[_Cost, int] = {}
        self._costs: list[_Cost] = []

    def number(self, kinds: Int64Array) -> int:
        """Return the number of what units of some kinds cost together.

        Args:
            kinds: The kind of each unit, ascending.
        """
        key = kinds.tobytes()
        if key not in self._known:
            cost = self._cost(kinds)
            if cost not in self._numbers:
                self._numbers[cost] = len(self._costs)
                self._costs.append(cost)
            self._known[key] = self._numbers[cost]
        return self._known[key]

    def least(self, numbers: Iterable[int]) -> int:
        return min(numbers, key=self._costs.__getitem__)

    def _cost(self, kinds: Int64Array) -> _Cost:
        units = [self._kinds[kind] for kind in kinds.tolist()]
        by_priority: dict[int, int] = {}
        for unit in units:
            by_priority[unit.priority] = by_priority.get(unit.priority, 0) + unit.n_pods
        return (
            bool(units),
            sum(unit.n_violating for unit in units),
            tuple(by_priority.items()),
            sum(by_priority.values()),
            tuple((unit.rank, unit.n_pods) for unit in units),
        )


@dataclass(frozen=True, slots=True)
class CondemnedUnits:
    """The units on every node without those that are evicted for a member already (``PodGroupPreemptionState``).

    A member prefers the nodes without other victims, then those with the cheapest ones (``CompareVictimSets``).
    """

    units: VictimUnits
    #: The node row of each of their pods.
    node_row: Rows
    #: The units with a pod on each node, node by node, and the positions at which nodes begin and end.
    there: Int64Array
    bounds: Int64Array
    #: The kind of each unit: int64, shape (n_units,).
    kind: Int64Array
    #: True for the units that are evicted already.
    condemned: Mask
    costs: _Costs
    #: The number of what the units of each node cost: int64, shape (n_nodes,).
    numbers: Int64Array

    @classmethod
    def of(cls, cluster: Cluster, units: VictimUnits, violating: Mask) -> Self:
        """Return the state before the first member.

        Args:
            violating: True for the pods whose eviction breaks a budget.
        """
        n_violating = np.bincount(units.unit_of[violating[units.pods]], minlength=len(units))
        # Kinds are numbered in the order of these values.
        values = np.stack((-units.priority, -units.rank, -units.n_pods, n_violating))
        first, kind = numbered_together(values, len(units))
        costs = _Costs([_Kind(-priority, -rank, -n, broken) for priority, rank, n, broken in values.T[first].tolist()])
        rows = cluster.pods.node_row[units.pods]
        order = np.lexsort((units.unit_of, kind[units.unit_of], rows))
        order = order[rows[order] >= 0]
        # A unit counts once on a node, however many of its pods are there.
        row, unit = rows[order], units.unit_of[order]
        again = (np.diff(row, prepend=-1) == 0) & (np.diff(unit, prepend=-1) == 0)
        row, there = row[~again], unit[~again]
        bounds = np.searchsorted(row, np.arange(len(cluster.nodes) + 1))
        kinds_there = kind[there]
        numbers = [costs.number(kinds_there[begin:end]) for begin, end in pairwise(bounds.tolist())]
        condemned = np.zeros(len(units), dtype=np.bool_)
        return cls(units, rows, there, bounds, kind, condemned, costs, np.array(numbers, dtype=np.int64))

    def cheapest(self, rows: Rows) -> Rows:
        own = self.numbers[rows]
        kept: Rows = rows[own == self.costs.least(np.flatnonzero(np.bincount(own)).tolist())]
        return kept

    def after(self, row: int) -> "CondemnedUnits":
        units = self._left_on(row)
        if not len(units):
            return self
        condemned, numbers = self.condemned.copy(), self.numbers.copy()
        condemned[units] = True
        new = dataclasses.replace(self, condemned=condemned, numbers=numbers)
        for other in {each for unit in units.tolist() for each in self.node_row[self.units.entries(unit)].tolist()}:
            if other >= 0:
                numbers[other] = self.costs.number(self.kind[new._left_on(other)])
        return new

    def _left_on(self, row: int) -> Int64Array:
        units = self.there[self.bounds[row] : self.bounds[row + 1]]
        left: Int64Array = units[~self.condemned[units]]
        return left


def _left_over(
    cluster: Cluster,
    emptied: Cluster,
    order: VictimUnits,
    trial: PodGroupTrial,
    proposed: Sequence[tuple[Pod, str]],
    rules: PodGroupRules,
) -> VictimUnits:
    """Put units back in order as long as the group still fits; return those that cannot come back."""
    victims = []
    for unit in range(len(order)):
        trying = emptied.with_pods(added=_pods_on_nodes(cluster, order.pods[order.entries(unit)]))
        if trial.fits(trying, proposed) if rules.stays_on_nodes else trial.run(trying)[0].code is Code.SUCCESS:
            emptied = trying
        else:
            victims.append(unit)
    return order.take(np.array(victims, dtype=np.int64))


# Only the nodes with members matter, and each for itself, if the pods of a node alone decide whether members fit there.
# So units are put back in rounds: in each the next unit of every node, all of them together.


def _left_over_on_nodes(
    framework: PluginsRunner,
    units: VictimUnits,
    violating: Mask,
    proposed: Sequence[tuple[Pod, str]],
    states: Sequence[CycleState],
) -> VictimUnits:
    """Do the same where the pods of a node alone decide whether members fit there."""
    pods = framework.cluster.pods
    members = _MembersOnNodes(framework, proposed, states)
    # Units on other nodes come back in any case.
    on_nodes = np.isin(pods.node_row[units.pods], members.rows)
    gone = np.zeros(len(pods), dtype=np.bool_)
    gone[units.pods[on_nodes]] = True
    if not members.fitting(members.rows, gone)[members.rows].all():
        # Nominated pods may keep members from the nodes that they found; then no unit can come back.
        return units.take(in_order_of_reprieve(units, violating))
    units = units.take(np.unique(units.unit_of[on_nodes]))
    units = units.take(in_order_of_reprieve(units, violating))
    rounds: list[list[tuple[int, list[int]]]] = []
    n_rounds = dict.fromkeys(members.rows.tolist(), 0)
    row_of = dict(zip(units.pods.tolist(), pods.node_row[units.pods].tolist(), strict=True))
    for unit in range(len(units)):
        back = [pod for pod in units.pods[units.entries(unit)].tolist() if row_of[pod] in n_rounds]
        rows = {row_of[pod] for pod in back}
        turn = max(n_rounds[row] for row in rows)
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append((unit, back))
        n_rounds.update(dict.fromkeys(rows, turn + 1))
    refused: list[int] = []
    for each in rounds:
        together = [pod for _, back in each for pod in back]
        gone[together] = False
        fits = members.fitting(np.unique(pods.node_row[together]), gone)
        for unit, back in each:
            if not fits[pods.node_row[back]].all():
                refused.append(unit)
                gone[back] = True
    return units.take(np.array(sorted(refused), dtype=np.int64))


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


def _pods_on_nodes(cluster: Cluster, pods: PodIndices) -> list[Pod]:
    return [_on(cluster.pods.pod(pod), cluster.pods.records[pod].node_name) for pod in pods.tolist()]


def _on(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))
