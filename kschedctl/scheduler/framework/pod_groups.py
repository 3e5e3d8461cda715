"""Groups of pods as plugins see them: the group, its placements, and what a placement came to (KEP-4671, KEP-5732)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_group_trees import Group, GroupForest, entity_key
from kschedctl.cluster.pod_groups import scheduled_members
from kschedctl.common.arrays import PodIndices, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.status import Status


class PodGroupInfo(msgspec.Struct, frozen=True):
    """A group in an attempt, with the groups below it (upstream ``PodGroupInfo``)."""

    #: The namespace and name of the group.
    namespace: str
    name: str
    #: The PodGroup or CompositePodGroup; ``None`` if it does not exist any more.
    group: Group | None
    #: The members to place, in the order in which they are tried; of a tree those of all groups below it.
    unscheduled: tuple[Pod, ...]
    #: The groups right below it, in the order in which they are tried.
    children: tuple["PodGroupInfo", ...] = ()

    @classmethod
    def of(cls, cluster: Cluster, namespace: str, name: str, unscheduled: Iterable[Pod] = ()) -> "PodGroupInfo":
        """Return a PodGroup of a cluster, with the members to place."""
        return cls(namespace, name, cluster.get(PodGroup, name, namespace), tuple(unscheduled))

    @classmethod
    def tried_for(cls, cluster: Cluster, release: Release, unscheduled: Sequence[Pod]) -> "PodGroupInfo":
        """Return the group that is tried for its members: their PodGroup, or the root of its tree."""
        first = unscheduled[0]
        forest = GroupForest.of(cluster, release)
        root = forest.root(first.namespace, first.spec.pod_group_name)
        if not isinstance(root, CompositePodGroup):
            return cls.of(cluster, first.namespace, first.spec.pod_group_name, unscheduled)
        members: dict[str, list[Pod]] = {}
        for pod in unscheduled:
            members.setdefault(pod.spec.pod_group_name, []).append(pod)

        def info(group: Group) -> PodGroupInfo:
            if isinstance(group, PodGroup):
                return cls(group.namespace, group.name, group, tuple(members.get(group.name, ())))
            children = tuple(info(child) for child in forest.children(group))
            pods = tuple(pod for child in children for pod in child.unscheduled)
            return cls(group.namespace, group.name, group, pods, children)

        return info(root)

    @property
    def pod_group(self) -> PodGroup | None:
        """The PodGroup; ``None`` for a CompositePodGroup, and for a PodGroup that does not exist."""
        return self.group if isinstance(self.group, PodGroup) else None

    @property
    def kind(self) -> str:
        """PodGroup or CompositePodGroup."""
        return (CompositePodGroup if self.is_tree else PodGroup).__name__

    @property
    def is_tree(self) -> bool:
        """True for a CompositePodGroup."""
        return isinstance(self.group, CompositePodGroup)

    @property
    def is_gang(self) -> bool:
        """True if the group has the gang policy."""
        return self.group is not None and self.group.spec.scheduling_policy.gang is not None

    @property
    def is_basic(self) -> bool:
        """True if the group has the basic policy."""
        return self.group is not None and self.group.spec.scheduling_policy.basic is not None

    def walk(self) -> Iterator["PodGroupInfo"]:
        """Yield the group and all groups below it, each before those below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def key(self) -> str:
        """The group's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def entity(self) -> str:
        """The group in kube-scheduler's messages, such as ``podgroup/NAMESPACE/NAME``."""
        return entity_key(self.group) if self.group is not None else f"podgroup/{self.key}"

    @property
    def preemption_policy(self) -> str:
        """The preemption policy of the group; empty if it has none."""
        return self.group.spec.preemption_policy if self.group is not None else ""

    @property
    def priority(self) -> int:
        """The priority of the group; 0 without one."""
        return (self.group.spec.priority or 0) if self.group is not None else 0

    @property
    def min_count(self) -> int:
        """``minCount`` or ``minGroupCount`` of a gang; 1 for the basic policy."""
        return self.group.spec.least if self.group is not None else 1

    @property
    def topology_key(self) -> str:
        """The label key of the topology constraint; empty if there is none."""
        keys = self.group.spec.topology_keys if self.group is not None else ()
        return keys[0] if keys else ""

    def scheduled(self, cluster: Cluster) -> PodIndices:
        """Return the members that are on a node or assumed on one: indices into ``Cluster.pods``."""
        if not self.is_tree:
            return scheduled_members(cluster, self.namespace, self.name)
        parts = [child.scheduled(cluster) for child in self.children]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


class Placement(msgspec.Struct, frozen=True):
    """A set of nodes that a group is tried on (upstream ``Placement``)."""

    #: The name: the value of the topology label, or empty for all nodes.
    name: str
    #: The rows of the nodes, ascending.
    rows: Rows


class PlacementProgress(msgspec.Struct, frozen=True):
    """The progress of an attempt in one placement: of members, or of the groups right below a CompositePodGroup."""

    #: The number of members on a node, bound before or placed in this attempt; or of groups that succeeded.
    scheduled: int
    #: The number of members that found none.
    unschedulable: int
    #: The number of members that are still to be tried.
    remaining: int


class PodGroupAssignments(msgspec.Struct, frozen=True):
    """The members that found a node in a placement (upstream ``PodGroupAssignments``)."""

    placement: Placement
    #: The members with the name of their node, in the order of the attempt.
    proposed: Sequence[tuple[Pod, str]]


def not_modelled_in(group: PodGroupInfo, release: Release, *, alone: bool = False) -> tuple[NotModelled, ...]:
    """Return the fields of a group that could change the decision for its members and are not modelled.

    Args:
        alone: True if the question takes PodGroups by themselves, whatever their trees.
    """
    notes = []
    for each in group.walk():
        if each.pod_group is None:
            continue
        parent = each.pod_group.spec.parent_composite_pod_group_name
        if parent and (alone or COMPOSITE_POD_GROUP not in release.features):
            effect = "the answer assumes that the group is scheduled by itself"
            notes.append(NotModelled(f"CompositePodGroup {parent}", effect))
        if each.pod_group.spec.resource_claims:
            effect = "the answer assumes that they reject no node"
            # The copies that capacity counts are named NAME+NUMBER.
            notes.append(NotModelled(f"the device claims of PodGroup {each.name.partition('+')[0]}", effect))
    return tuple(notes)


class CondemnedVictims(Protocol):
    """The possible victims on every node, and those that are evicted for a member of the group already."""

    def cheapest(self, rows: Rows) -> Rows:
        """Return the nodes with the cheapest victims, of the nodes on which a member fits: rows in the given order."""

    def after(self, row: int) -> "CondemnedVictims":
        """Return the state after a member has taken a node, with all of its victims condemned."""


class PodGroupTrial(Protocol):
    """An attempt at a group in a changed cluster, for plugins that look for victims (upstream ``pgSchedulingFunc``).

    Attributes
    ----------
    states : sequence of CycleState
        The cycle states of the searches for members so far (upstream ``PodGroupCycleState``).
    """

    @property
    def states(self) -> Sequence[CycleState]: ...

    def run(
        self, cluster: Cluster, condemned: CondemnedVictims | None = None
    ) -> tuple[Status, Sequence[tuple[Pod, str]]]:
        """Try the whole group; return the group's status, and the members that found a node with its name, in order.

        Parameters
        ----------
        cluster : Cluster
            The cluster without the possible victims.
        condemned : CondemnedVictims, optional
            The possible victims, where the release ranks nodes by them.
        """

    def fits(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> bool:
        """Report whether members fit on given nodes, one after the other."""

    def states_on_own_nodes(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> Sequence[CycleState] | None:
        """Return the states of members after PreFilter; ``None`` unless the pods of a node alone decide about it.

        Parameters
        ----------
        cluster : Cluster
            The cluster without some of its pods. The states hold for every cluster between it and the group's own.
        proposed : sequence of tuple of Pod and str
            The members with their nodes. Members that are alike share a state.
        """
