"""Trees of groups: CompositePodGroups, and below them the groups that name them as their parent.

With the gate CompositePodGroup a tree is queued and tried as one; without it every PodGroup is a tree of its own.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_groups import group_members, scheduled_members
from kschedctl.common.arrays import PodIndices
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP

Group = PodGroup | CompositePodGroup

_LAST: Final = float("inf")


def entity_key(group: Group) -> str:
    """Return a group in kube-scheduler's words: ``podgroup/NAMESPACE/NAME`` or ``compositepodgroup/NAMESPACE/NAME``."""
    return f"{type(group).__name__.lower()}/{group.key}"


class GroupForest:
    """The trees of a cluster.

    Args:
        grows: True if groups may have parents.
    """

    def __init__(self, cluster: Cluster, *, grows: bool) -> None:
        self._grows = grows
        self._pod_groups = {(each.namespace, each.name): each for each in cluster.list(PodGroup)}
        self._composites = {(each.namespace, each.name): each for each in cluster.list(CompositePodGroup)}
        self._children: dict[tuple[str, str], list[Group]] = {}
        groups: list[Group] = [*self._pod_groups.values(), *self._composites.values()]
        for group in groups if grows else ():
            if parent := group.spec.parent_composite_pod_group_name:
                self._children.setdefault((group.namespace, parent), []).append(group)
        for children in self._children.values():
            children.sort(key=_by_age)

    @classmethod
    def of(cls, cluster: Cluster, release: Release) -> "GroupForest":
        """Return the trees that a release schedules, computed once per cluster."""
        grows = release.enabled(COMPOSITE_POD_GROUP)
        return cluster.derived(cls, grows, lambda: cls(cluster, grows=grows), of=(PodGroup, CompositePodGroup))

    def children(self, group: Group) -> tuple[Group, ...]:
        """Return the groups right below a group, the oldest first."""
        found = self._children.get((group.namespace, group.name), ())
        return tuple(found) if isinstance(group, CompositePodGroup) else ()

    def walk(self, group: Group) -> Iterator[Group]:
        """Yield a group and all groups below it, each once and before those below it, in the order of their tries."""
        waiting, seen = [group], set[str]()
        while waiting:
            here = waiting.pop()
            if entity_key(here) not in seen:
                seen.add(entity_key(here))
                yield here
                waiting += reversed(self.children(here))

    def leaves(self, group: Group) -> Iterator[PodGroup]:
        """Yield the PodGroups of a tree in the order in which they are tried."""
        return (each for each in self.walk(group) if isinstance(each, PodGroup))

    def upwards(self, group: Group) -> Iterator[Group]:
        """Yield a group and the groups above it, up to the first that does not exist or was there before."""
        here: Group | None = group
        seen: set[str] = set()
        while here is not None and entity_key(here) not in seen:
            seen.add(entity_key(here))
            yield here
            name = here.spec.parent_composite_pod_group_name if self._grows else ""
            here = self._composites.get((here.namespace, name)) if name else None

    def root(self, namespace: str, name: str) -> Group | None:
        """Return the root of the tree of a PodGroup; ``None`` if that or a group above it does not exist."""
        group = self._pod_groups.get((namespace, name))
        if group is None:
            return None
        *_, last = self.upwards(group)
        return None if self._grows and last.spec.parent_composite_pod_group_name else last

    def members(self, cluster: Cluster, group: Group, *, scheduled: bool = False) -> PodIndices:
        """Return the pods of a tree: indices into ``Cluster.pods``.

        Args:
            scheduled: True for those that have a node only.
        """
        of_leaf = scheduled_members if scheduled else group_members
        leaves = [of_leaf(cluster, leaf.namespace, leaf.name) for leaf in self.leaves(group)]
        return np.concatenate(leaves) if leaves else np.zeros(0, dtype=np.int64)


def tried_with(cluster: Cluster, release: Release, pod: Pod) -> tuple[str, str, str] | None:
    """Return kind, namespace and name of the group with which a pod is tried; ``None`` for a pod that is tried alone.

    That is the root of its tree. A pod whose tree lacks a group is not tried; then that is its PodGroup.
    """
    if not pod.spec.pod_group_name or release.pod_groups is None:
        return None
    root = GroupForest.of(cluster, release).root(pod.namespace, pod.spec.pod_group_name)
    kind = CompositePodGroup if isinstance(root, CompositePodGroup) else PodGroup
    return kind.__name__, pod.namespace, root.name if root is not None else pod.spec.pod_group_name


def _by_age(group: Group) -> tuple[float, str]:
    created = group.metadata.creation_timestamp
    return created.timestamp() if created is not None else _LAST, group.name
