"""The pod groups that lose members in a simulation.

The Eviction API and controllers end single pods: ``disruptionMode`` holds for preemption only, and ``minCount`` only
while pods are scheduled. The other members run on, with fewer pods than the group was scheduled with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_groups import grouped_pods
from kschedctl.cluster.records import PENDING
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.trials.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

_LEAVING: Final = frozenset({TimelineEvent.EVICTED, TimelineEvent.PREEMPTED, TimelineEvent.DELETED})


@dataclass(slots=True)
class GroupLoss:
    """A pod group that loses members.

    Attributes
    ----------
    namespace, name : str
        The PodGroup.
    pod_group : PodGroup or None
        The PodGroup; ``None`` if it does not exist.
    before : int
        The number of members on nodes at first, without those that are being deleted.
    evicted, preempted : list of str
        The members that are evicted or deleted, and those that are preempted, ``namespace/name`` in order.
    on_nodes : set of str
        The members on nodes at the end.
    fewest : int
        The smallest number of members on nodes at any time.
    """

    namespace: str
    name: str
    pod_group: PodGroup | None
    before: int
    evicted: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    on_nodes: set[str] = field(default_factory=set)
    fewest: int = 0


def group_losses(
    before: Cluster, after: Cluster, timeline: Iterable[TimelineEntry], release: Release
) -> tuple[GroupLoss, ...]:
    """Return the groups that lose members, by namespace and name.

    Parameters
    ----------
    before, after : Cluster
        The cluster at the start and at the end of the timeline.
    """
    if release.pod_groups is None:
        return ()
    groups = {**_groups_of_pods(after), **_groups_of_pods(before)}
    losses = {key: _loss(before, *key) for key in dict.fromkeys(groups.values())}
    for pod in _on_nodes(before):
        losses[groups[pod]].on_nodes.add(pod)
    for loss in losses.values():
        loss.before = loss.fewest = len(loss.on_nodes)
    for entry in timeline:
        if entry.why.startswith(IN_PLACE_OF) and (group := groups.get(entry.why.removeprefix(IN_PLACE_OF))):
            groups[entry.pod] = group
        if entry.pod in groups:
            _count(losses[groups[entry.pod]], entry)
    return tuple(losses[key] for key in sorted(losses) if losses[key].evicted or losses[key].preempted)


def _loss(cluster: Cluster, namespace: str, name: str) -> GroupLoss:
    return GroupLoss(namespace, name, cluster.get(PodGroup, name, namespace), 0)


def _count(loss: GroupLoss, entry: TimelineEntry) -> None:
    if entry.event is TimelineEvent.SCHEDULED:
        loss.on_nodes.add(entry.pod)
    elif entry.event in _LEAVING and entry.pod in loss.on_nodes:
        loss.on_nodes.remove(entry.pod)
        (loss.preempted if entry.event is TimelineEvent.PREEMPTED else loss.evicted).append(entry.pod)
        loss.fewest = min(loss.fewest, len(loss.on_nodes))


def _groups_of_pods(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Return the namespace and name of the group of each member, by the member's ``namespace/name``."""
    records = cluster.pods.records
    return {
        cluster.pods.key(index): (records[index].metadata.namespace, records[index].spec.pod_group_name)
        for index in grouped_pods(cluster).tolist()
    }


def _on_nodes(cluster: Cluster) -> Iterable[str]:
    pods = cluster.pods
    for index in grouped_pods(cluster).tolist():
        if pods.node_row[index] != PENDING and pods.records[index].metadata.deletion_timestamp is None:
            yield pods.key(index)
