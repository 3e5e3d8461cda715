"""Victims of preemption as units: a pod, or all pods of a group that is evicted as a whole (upstream ``Victim``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.cluster.pod_groups import pod_group_of, scheduled_members
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.scheduler.preemption.budgets import Budget, violated_budgets


class VictimUnit(msgspec.Struct, frozen=True):
    """Pods that are evicted together.

    Attributes
    ----------
    pods : tuple of int
        The pods, as indices into ``Cluster.pods``; at least one.
    priority : int
        The priority of the unit: that of the pod or of its group.
    of_group : bool
        True if the unit is a group or a pod of one; such units are more important than other pods.
    start_time : int
        The earliest start in microseconds since 1970, ``NOT_STARTED`` without one.
    """

    pods: tuple[int, ...]
    priority: int
    of_group: bool
    start_time: int

    @property
    def importance(self) -> tuple[int, bool, int, int]:
        """The sort key, the most important first (upstream ``MoreImportantVictim``)."""
        return -self.priority, not self.of_group, -len(self.pods), self.start_time


def pod_priority(cluster: Cluster, pod: int, rules: PodGroupRules | None) -> int:
    """Return the priority by which a pod counts as a victim: its own, or that of its group where the rules say so.

    Parameters
    ----------
    pod : int
        Index into ``Cluster.pods``.
    """
    record = cluster.pods.records[pod]
    if rules is None or not rules.victims_have_group_priority:
        return record.priority
    group = pod_group_of(cluster, pod)
    return record.priority if group is None else (group.spec.priority or 0)


def victim_units(cluster: Cluster, pods: Iterable[int], rules: PodGroupRules) -> list[VictimUnit]:
    """Return the units that some pods belong to, in the order of the pods.

    Parameters
    ----------
    pods : iterable of int
        Indices into ``Cluster.pods`` of pods on nodes, ordered by node.
    """
    units: dict[object, VictimUnit] = {}
    starts = cluster.pods.start_time
    for pod in pods:
        group = pod_group_of(cluster, pod)
        if group is None or not group.spec.disrupts_all:
            priority = pod_priority(cluster, pod, rules)
            units[pod] = VictimUnit(
                (pod,), priority, bool(cluster.pods.records[pod].spec.pod_group_name), int(starts[pod])
            )
        elif group.key not in units:
            members = scheduled_members(cluster, group.namespace, group.name)
            # Until 1.36 the start of a group is that of the member found first.
            start = starts[members].min() if rules.victims_have_group_priority else starts[pod]
            units[group.key] = VictimUnit(tuple(members.tolist()), group.spec.priority or 0, True, int(start))
    return list(units.values())


def units_in_order_of_reprieve(
    cluster: Cluster, units: Iterable[VictimUnit], budgets: Sequence[Budget]
) -> tuple[list[VictimUnit], frozenset[int]]:
    """Return units in the order in which they are put back, and those of their pods that break a budget.

    Units that break a budget come first, and the more important ones before others. A unit is protected as a whole if
    the eviction of one of its pods breaks a budget.
    """
    ordered = sorted(units, key=lambda unit: unit.importance)
    pods = np.array([pod for unit in ordered for pod in unit.pods], dtype=np.int64)
    together = PodsInWorlds(np.zeros(1, dtype=np.int64), np.zeros(len(pods), dtype=np.int64), pods)
    violated = violated_budgets(cluster, budgets, together, up_to_first=True)
    violating = frozenset(pods[np.logical_or.reduce(violated)].tolist())
    return sorted(ordered, key=lambda unit: violating.isdisjoint(unit.pods)), violating
