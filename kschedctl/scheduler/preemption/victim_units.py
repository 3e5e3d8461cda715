"""Victims of preemption as units: a pod, or all pods of a group that is evicted as a whole (upstream ``Victim``).

A preempting group has all pods of lower priority as possible victims, so that units are columns.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.cluster.pod_group_trees import GroupForest, entity_key
from kschedctl.cluster.pod_groups import grouped_pods, pod_group_of
from kschedctl.cluster.pods import sorted_by_uid
from kschedctl.cluster.records import PodRecord
from kschedctl.common.arrays import Int64Array, Mask, PodIndices
from kschedctl.objects.pod_group import CompositePodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import PodGroupRules, VictimTies
from kschedctl.scheduler.preemption.budgets import Budget, violated_budgets


class VictimUnits(msgspec.Struct, frozen=True):
    """Units of pods that are evicted together. Arrays without a note are int64, shape (n_units,)."""

    #: The pods of all units, unit by unit; each has at least one.
    pods: PodIndices
    #: The unit of each of these pods.
    unit_of: Int64Array
    #: The priority of the unit: that of the pod or of its group.
    priority: Int64Array
    #: The kind of the unit: 0 for a pod, 1 for a group or a pod that ranks as one, 2 for a tree of groups. Higher ones
    #: are more important.
    rank: Int64Array
    #: The earliest start in microseconds since 1970, ``NOT_STARTED`` without one.
    start_time: Int64Array
    #: The groups that are evicted as a whole, as ``namespace/name``, by the first pod of the unit.
    groups: Mapping[int, str] = msgspec.field(default_factory=dict)
    #: The records of the cluster's pods, whose uids break ties; ``None`` in releases where they do not.
    records: Sequence[PodRecord] | None = None

    def __len__(self) -> int:
        return len(self.priority)

    @property
    def first(self) -> Int64Array:
        """The position of the first pod of each unit in ``pods``."""
        return np.searchsorted(self.unit_of, np.arange(len(self)))

    @property
    def n_pods(self) -> Int64Array:
        return np.bincount(self.unit_of, minlength=len(self))

    def entries(self, unit: int) -> slice:
        """Return the positions of the pods of a unit in ``pods``."""
        begin, end = np.searchsorted(self.unit_of, (unit, unit + 1)).tolist()
        return slice(begin, end)

    def take(self, units: Int64Array) -> "VictimUnits":
        """Return some of the units, in the given order."""
        n_pods = self.n_pods[units]
        before = np.cumsum(n_pods) - n_pods
        pods = self.pods[np.repeat(self.first[units] - before, n_pods) + np.arange(n_pods.sum())]
        unit_of = np.repeat(np.arange(len(units)), n_pods)
        return replace(
            self,
            pods=pods,
            unit_of=unit_of,
            priority=self.priority[units],
            rank=self.rank[units],
            start_time=self.start_time[units],
        )

    def by_importance(self) -> Int64Array:
        """Return the units, the most important first (upstream ``MoreImportantVictim``)."""
        keys = np.stack((-self.priority, -self.rank, -self.n_pods, self.start_time))
        order = np.lexsort(keys[::-1])
        if self.records is None:
            return order
        records, pods = self.records, self.pods[self.first]
        return sorted_by_uid(order, keys, lambda unit: records[int(pods[unit])])


def pod_priority(cluster: Cluster, pod: int, rules: PodGroupRules | None) -> int:
    """Return the priority by which a pod counts as a victim: its own, or that of its group where the rules say so.

    Args:
        pod: Index into ``Cluster.pods``.
    """
    record = cluster.pods.records[pod]
    if rules is None or not rules.victims_have_group_priority:
        return record.priority
    group = pod_group_of(cluster, pod)
    return record.priority if group is None else (group.spec.priority or 0)


def victim_units(cluster: Cluster, pods: PodIndices, release: Release) -> VictimUnits:
    """Return the units that some pods belong to, in the order of the pods.

    Args:
        pods: Pods on nodes, ordered by node.
        release: A release that schedules groups.
    """
    records = cluster.pods.records if release.victim_ties is VictimTies.BY_UID else None
    # Most pods are in no group.
    alone = np.isin(pods, grouped_pods(cluster), invert=True)
    single = pods[alone]
    own = (single, np.arange(len(single)), cluster.pods.priority[single], np.zeros_like(single))
    units = VictimUnits(*own, cluster.pods.start_time[single], {}, records)
    if len(single) == len(pods):
        return units
    grouped = _units_in_groups(cluster, pods, np.flatnonzero(~alone).tolist(), release)
    members, number = [each.pods for each in grouped], len(units)
    both = VictimUnits(
        np.concatenate((units.pods, *members)),
        np.concatenate((units.unit_of, np.repeat(number + np.arange(len(grouped)), [len(each) for each in members]))),
        np.append(units.priority, [each.priority for each in grouped]),
        np.append(units.rank, [each.rank for each in grouped]),
        np.append(units.start_time, [each.start_time for each in grouped]),
        {int(each.pods[0]): each.group for each in grouped if each.group},
        records,
    )
    return both.take(np.argsort(np.append(np.flatnonzero(alone), [each.position for each in grouped])))


class _Unit(msgspec.Struct, frozen=True):
    """A unit of pods in groups: its columns, and the position of the first of some pods that belongs to it."""

    position: int
    pods: PodIndices
    priority: int
    rank: int
    start_time: int
    group: str


def _units_in_groups(cluster: Cluster, pods: PodIndices, positions: Sequence[int], release: Release) -> list[_Unit]:
    rules, forest, starts = release.pod_groups, GroupForest.of(cluster, release), cluster.pods.start_time
    assert rules is not None
    units: dict[object, _Unit] = {}
    for position in positions:
        pod = int(pods[position])
        own = pod_group_of(cluster, pod)
        # The highest group above the pod that is evicted as a whole.
        whole = [group for group in forest.upwards(own) if group.spec.disrupts_all] if own is not None else []
        key: object = entity_key(whole[-1]) if whole else pod
        if key in units:
            continue
        priority = pod_priority(cluster, pod, rules)
        members, rank, start = pods[position : position + 1], 0, int(starts[pod])
        if whole:
            members = forest.members(cluster, whole[-1], scheduled=True)
            rank = 2 if isinstance(whole[-1], CompositePodGroup) else 1
            priority = (whole[-1].spec.priority or 0) if rules.units_have_group_priority else priority
        elif own is not None and rules.single_members_rank_as_group:
            rank = 1
        # Until 1.36 the start of a group is that of the member found first.
        if rules.pods_preempt_whole_groups:
            start = int(starts[members].min())
        units[key] = _Unit(position, members, priority, rank, start, whole[-1].key if whole else "")
    return list(units.values())


def violating_pods(cluster: Cluster, units: VictimUnits, budgets: Sequence[Budget]) -> Mask:
    """Return the pods that break a budget if all units are evicted, the most important first: bool, shape (n_pods,)."""
    violating = np.zeros(len(cluster.pods), dtype=np.bool_)
    if budgets:
        pods = units.take(units.by_importance()).pods
        together = PodsInWorlds(np.zeros(1, dtype=np.int64), np.zeros_like(pods), pods)
        violated = violated_budgets(cluster, budgets, together, up_to_first=True)
        violating[pods] = np.logical_or.reduce(violated)
    return violating


def in_order_of_reprieve(units: VictimUnits, violating: Mask) -> Int64Array:
    """Return the units in the order in which they are put back.

    Units that break a budget come first, and the more important ones before others. A unit is protected as a whole if
    the eviction of one of its pods breaks a budget.

    Args:
        violating: True for the pods that break a budget.
    """
    order = units.by_importance()
    protected = np.isin(order, units.unit_of[violating[units.pods]])
    return order[np.argsort(~protected, kind="stable")]
