"""Groups of pods as plugins see them: the group, its placements, and what a placement came to (KEP-4671, KEP-5732)."""

from collections.abc import Iterable, Sequence

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_groups import scheduled_members
from kschedctl.common.arrays import PodIndices, Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.framework.cycle_state import NotModelled


class PodGroupInfo(msgspec.Struct, frozen=True):
    """A group in an attempt (upstream ``PodGroupInfo``)."""

    #: The namespace and name of the PodGroup.
    namespace: str
    name: str
    #: The PodGroup; ``None`` if it does not exist any more.
    pod_group: PodGroup | None
    #: The members to place, in the order in which they are tried.
    unscheduled: tuple[Pod, ...]

    @classmethod
    def of(cls, cluster: Cluster, namespace: str, name: str, unscheduled: Iterable[Pod] = ()) -> "PodGroupInfo":
        """Return a group of a cluster, with the members to place."""
        return cls(namespace, name, cluster.get(PodGroup, name, namespace), tuple(unscheduled))

    @property
    def key(self) -> str:
        """The group's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def entity(self) -> str:
        """The group in kube-scheduler's messages: ``podgroup/NAMESPACE/NAME``."""
        return f"podgroup/{self.key}"

    @property
    def preemption_policy(self) -> str:
        """The preemption policy of the PodGroup; empty if it has none."""
        return self.pod_group.spec.preemption_policy if self.pod_group is not None else ""

    @property
    def priority(self) -> int:
        """The priority of the PodGroup; 0 without one."""
        return (self.pod_group.spec.priority or 0) if self.pod_group is not None else 0

    @property
    def min_count(self) -> int:
        """``minCount`` of a gang; 1 for the basic policy."""
        gang = self.pod_group.spec.min_count if self.pod_group is not None else None
        return 1 if gang is None else gang

    @property
    def topology_key(self) -> str:
        """The label key of the topology constraint; empty if there is none."""
        keys = self.pod_group.spec.topology_keys if self.pod_group is not None else ()
        return keys[0] if keys else ""

    def scheduled(self, cluster: Cluster) -> PodIndices:
        """Return the members that are on a node or assumed on one: indices into ``Cluster.pods``."""
        return scheduled_members(cluster, self.namespace, self.name)


class Placement(msgspec.Struct, frozen=True):
    """A set of nodes that a group is tried on (upstream ``Placement``)."""

    #: The name: the value of the topology label, or empty for all nodes.
    name: str
    #: The rows of the nodes, ascending.
    rows: Rows


class PlacementProgress(msgspec.Struct, frozen=True):
    """The progress of an attempt in one placement."""

    #: The number of members on a node: bound before, or placed in this attempt.
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


def not_modelled_in(group: PodGroupInfo) -> tuple[NotModelled, ...]:
    """Return the fields of a PodGroup that could change the decision for its members and are not modelled."""
    if group.pod_group is None:
        return ()
    notes = []
    parent = group.pod_group.spec.parent_composite_pod_group_name
    if parent:
        effect = "the answer assumes that the group is scheduled by itself"
        notes.append(NotModelled(f"CompositePodGroup {parent}", effect))
    if group.pod_group.spec.resource_claims:
        effect = "the answer assumes that they reject no node"
        # The copies that capacity counts are named NAME+NUMBER.
        notes.append(NotModelled(f"the device claims of PodGroup {group.name.partition('+')[0]}", effect))
    return tuple(notes)
