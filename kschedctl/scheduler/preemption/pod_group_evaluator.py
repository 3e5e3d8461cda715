"""Preemption for a whole pod group (upstream ``PodGroupEvaluator``; KEP-5710).

All units of lower priority are removed from the cluster, and the whole group is tried again. If it fits, the units are
put back one by one as long as the group still fits: those that a budget protects first, more important ones earlier.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Rows
from kschedctl.common.dataclass import dataclass
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import GROUP_PREEMPTION_POLICY, PodGroupRules
from kschedctl.scheduler.framework.interface import PodGroupPostFilterResult, PodGroupTrial
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
    cluster: Cluster, release: Release, group: PodGroupInfo, trial: PodGroupTrial
) -> PodGroupPostFilterResult:
    """Find the pods to evict so that a group fits.

    Args:
        trial: Tries the group in changed clusters.

    Returns: Success with the victims and the nominated nodes; or the reason why preemption does not help.
    """
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
    if rules.stays_on_nodes and trial.depends_on_own_node(emptied, [pod for pod, _ in proposed]):
        victims = _left_over_on_nodes(cluster, emptied, order, trial, proposed)
    else:
        victims = _left_over(cluster, emptied, order, trial, proposed, rules)
    if not rules.ranks_nodes:
        victims.sort(key=lambda unit: unit.importance)
    pods = tuple(pod for unit in victims for pod in unit.pods)
    said = (f"found a placement for podgroup, preempting {len(pods)} victims",) if rules.says_preemption else ()
    nominated = {pod.key: node for pod, node in proposed}
    return PodGroupPostFilterResult(Status(Code.SUCCESS, said), nominated, pods)


@dataclass(frozen=True, slots=True)
class CondemnedUnits:
    """The units on every node, and those that are evicted for a member already (upstream ``PodGroupPreemptionState``).

    A member prefers the nodes without other victims, then those with the cheapest ones (``CompareVictimSets``).
    """

    #: The units with a pod on a node, the most important first, by node row.
    on_node: Mapping[int, Sequence[VictimUnit]]
    #: The number of pods of a unit whose eviction breaks a budget.
    n_violations: Mapping[VictimUnit, int]
    condemned: frozenset[VictimUnit] = frozenset()

    @classmethod
    def of(cls, cluster: Cluster, units: Iterable[VictimUnit], violating: frozenset[int]) -> Self:
        on_node: dict[int, list[VictimUnit]] = {}
        units = sorted(units, key=lambda unit: unit.importance)
        for unit in units:
            for row in dict.fromkeys(cluster.pods.node_row[list(unit.pods)].tolist()):
                on_node.setdefault(row, []).append(unit)
        return cls(on_node, {unit: len(violating.intersection(unit.pods)) for unit in units})

    def _left(self, row: int) -> list[VictimUnit]:
        return [unit for unit in self.on_node.get(row, ()) if unit not in self.condemned]

    def cheapest(self, rows: Rows) -> Rows:
        costs = [self._cost(self._left(row)) for row in rows.tolist()]
        least = min(costs)
        kept: Rows = rows[[cost == least for cost in costs]]
        return kept

    def after(self, row: int) -> "CondemnedUnits":
        return dataclasses.replace(self, condemned=self.condemned.union(self._left(row)))

    def _cost(self, units: Sequence[VictimUnit]) -> tuple[Any, ...]:
        by_priority: dict[int, int] = {}
        for unit in units:
            by_priority[unit.priority] = by_priority.get(unit.priority, 0) + len(unit.pods)
        # No victims cost less than any.
        return (
            bool(units),
            sum(self.n_violations[unit] for unit in units),
            tuple(by_priority.items()),
            sum(by_priority.values()),
            tuple((unit.rank, len(unit.pods)) for unit in units),
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


def _left_over_on_nodes(
    cluster: Cluster,
    emptied: Cluster,
    order: Sequence[VictimUnit],
    trial: PodGroupTrial,
    proposed: Sequence[tuple[Pod, str]],
) -> list[VictimUnit]:
    """Do the same where the pods of a node alone decide whether members fit there, so that only these nodes matter."""
    on_node: dict[str, list[tuple[Pod, str]]] = {}
    for pod, node in proposed:
        on_node.setdefault(node, []).append((pod, node))
    rows = [cluster.nodes.row[node] for node in on_node]
    there = frozenset(pod for row in rows for pod in cluster.pods.on_node(row).tolist())
    on_nodes = emptied.pods.assigned
    small = emptied.with_pods(removed=on_nodes[~np.isin(emptied.pods.node_row[on_nodes], rows)].tolist())
    small = small.with_nodes(cluster.nodes.objects[row] for row in sorted(rows))
    if not trial.fits(small, proposed):
        # Nominated pods may keep members from the nodes that they found; then no unit can come back.
        return list(order)
    victims = []
    for unit in order:
        back = _pods_on_nodes(cluster, [pod for pod in unit.pods if pod in there])
        if not back:
            continue
        trying = small.with_pods(added=back)
        nodes = dict.fromkeys(pod.spec.node_name for pod in back)
        if trial.fits(trying, [each for node in nodes for each in on_node[node]]):
            small = trying
        else:
            victims.append(unit)
    return victims


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
