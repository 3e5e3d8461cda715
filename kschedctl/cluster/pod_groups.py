"""The members of pod groups as an index over the pods, and the feature gates that a cluster's objects show."""

from collections.abc import Iterable, Mapping

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING, PodRecord
from kschedctl.cluster.slots import Moves
from kschedctl.common.arrays import PodIndices
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import (
    COMPOSITE_POD_GROUP,
    GENERIC_WORKLOAD,
    GROUP_PREEMPTION_POLICY,
    TOPOLOGY_AWARE,
)

_Index = Mapping[tuple[str, str], tuple[int, ...]]


def group_members(cluster: Cluster, namespace: str, name: str) -> PodIndices:
    """Return the pods that name a PodGroup in ``spec.schedulingGroup``: indices into ``Cluster.pods``, ascending."""
    return cluster.pods.mark.indices_of(np.array(_group_index(cluster).get((namespace, name), ()), dtype=np.int64))


def scheduled_members(cluster: Cluster, namespace: str, name: str) -> PodIndices:
    """Return the members that have a node: indices into ``Cluster.pods``, ascending."""
    members = group_members(cluster, namespace, name)
    scheduled: PodIndices = members[cluster.pods.node_row[members] != PENDING]
    return scheduled


def grouped_pods(cluster: Cluster) -> PodIndices:
    """Return all pods that name a PodGroup: indices into ``Cluster.pods``, ascending."""

    def found(pods: Pods) -> PodIndices:
        slots = sorted(slot for members in _group_index(cluster).values() for slot in members)
        return pods.mark.indices_of(np.array(slots, dtype=np.int64))

    return cluster.pods.moving("grouped pods", found)


def groups_with_members(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Return the namespaces and names of the PodGroups that pods name, whether or not they exist."""
    return tuple(_group_index(cluster))


def pod_group_of(cluster: Cluster, pod: int) -> PodGroup | None:
    """Return the PodGroup of a pod, given by its index; ``None`` if it names none, or one that does not exist."""
    record = cluster.pods.records[pod]
    name = record.spec.pod_group_name
    return cluster.get(PodGroup, name, record.metadata.namespace) if name else None


def _group_index(cluster: Cluster) -> _Index:
    return cluster.pods.moving(
        "pod groups", lambda pods: _added({}, zip(pods.slots.tolist(), pods.records, strict=True)), _moved_index
    )


def _moved_index(index: _Index, moves: Moves) -> _Index:
    left = dict(index)
    for slot in moves.gone.tolist():
        record = moves.slots.record(slot)
        if name := record.spec.pod_group_name:
            key = record.metadata.namespace, name
            members = tuple(each for each in left.pop(key) if each != slot)
            left.update({key: members} if members else {})
    return _added(left, ((slot, moves.slots.record(slot)) for slot in moves.come.tolist()))


def _added(index: dict[tuple[str, str], tuple[int, ...]], come: Iterable[tuple[int, PodRecord]]) -> _Index:
    new: dict[tuple[str, str], list[int]] = {}
    for slot, record in come:
        if name := record.spec.pod_group_name:
            new.setdefault((record.metadata.namespace, name), []).append(slot)
    for key, slots in new.items():
        index[key] = (*index.get(key, ()), *slots)
    return index


# The feature gates of pod groups that a cluster has on, as its objects show.


def pod_group_gates(cluster: Cluster, release: Release) -> tuple[str, ...]:
    """Return the gates that the cluster's PodGroups and their members show to be on; empty if there are none.

    An API server stores a field only if its gate is on, and gates are set alike on the API server and the scheduler
    (KEP-4671: both components need them).
    """
    groups, trees = cluster.list(PodGroup), cluster.list(CompositePodGroup)
    rules = release.pod_group_rules
    # Without its PodGroup no pod would be tried: if none could be listed, the pods are decided for one by one.
    unlisted = PodGroup.__name__ in cluster.not_listed and PodGroup.__name__ not in cluster.listed
    if rules is None or unlisted or not (groups or _group_index(cluster)):
        return ()
    specs = [group.spec for group in groups]
    has_parents = bool(trees) or any(spec.parent_composite_pod_group_name for spec in specs)
    has_trees = has_parents and COMPOSITE_POD_GROUP in release.features
    shown = {
        GENERIC_WORKLOAD: True,
        rules.gang_gate: any(spec.min_count is not None for spec in specs),
        TOPOLOGY_AWARE: has_trees or any(spec.topology_keys for spec in specs),
        COMPOSITE_POD_GROUP: has_trees,
        GROUP_PREEMPTION_POLICY: any(spec.preemption_policy for spec in specs),
    }
    if any(spec.priority is not None or spec.disruption_mode is not None for spec in specs):
        # The preemption by groups depends on gangs.
        shown |= {rules.gang_gate: True, rules.preemption_gate: True}
    shown[GENERIC_WORKLOAD] = True
    return tuple(gate for gate, on in shown.items() if on and gate in release.features)
