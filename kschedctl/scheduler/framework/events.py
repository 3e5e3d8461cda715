"""Cluster events, and the queueing hints by which plugins report whether an event may help a pod they rejected.

Upstream: ``ClusterEvent``, ``QueueingHintFn`` and ``EnqueueExtensions`` of the framework (KEP-4247). An event is a
resource kind and an action on it. An unschedulable pod is retried only if a plugin that rejected it has registered the
event and the plugin's hint does not rule this event out.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import IntFlag, StrEnum, auto
from typing import Any, Final

import msgspec

from kschedctl.objects.core import Node
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.resources import RequestRules, pod_requests
from kschedctl.objects.volume import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


class EventResource(StrEnum):
    """The kind of object that an event is about.

    Pod events distinguish pods on nodes (``ASSIGNED_POD``), pods without a node (``UNSCHEDULED_POD``) and the rejected
    pod itself (``TARGET_POD``). A plugin that registers ``POD`` receives all of them.
    """

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"
    CSI_STORAGE_CAPACITY = "CSIStorageCapacity"
    VOLUME_ATTACHMENT = "VolumeAttachment"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    POD_GROUP = "PodGroup"
    COMPOSITE_POD_GROUP = "CompositePodGroup"
    ANY = "*"


class ActionType(IntFlag):
    """The action on an object; an update names the property that changed where the scheduler distinguishes it."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_TOLERATION = auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
    )
    ALL = ADD | DELETE | UPDATE


_OF_PODS: Final = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD)


class ClusterEvent(msgspec.Struct, frozen=True):
    """A kind of object and an action on it.

    Attributes
    ----------
    label : str
        The scheduler's name for the event if it has one of its own, such as ``UnschedulableTimeout``; else empty.
    """

    resource: EventResource
    action: ActionType
    label: str = ""

    @property
    def is_wild_card(self) -> bool:
        """True if the event stands for every action on every kind of object."""
        return self.resource is EventResource.ANY and self.action == ActionType.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Report whether the incoming event is covered by this registered event."""
        if self.is_wild_card:
            return True
        same = self.resource in (EventResource.ANY, incoming.resource) or (
            self.resource is EventResource.POD and incoming.resource in _OF_PODS
        )
        return same and bool(self.action & incoming.action) and incoming.action <= self.action

    def __str__(self) -> str:
        names = "|".join(str(action.name) for action in ActionType if action in self.action)
        return self.label or f"{self.resource} {names}"


UNSCHEDULED_POD_ADD: Final = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD)
ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
NODE_ADD: Final = ClusterEvent(EventResource.NODE, ActionType.ADD)
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(EventResource.ANY, ActionType.ALL, "UnschedulableTimeout")
EVERYTHING: Final = ClusterEvent(EventResource.ANY, ActionType.ALL)

#: A function that reports whether a change of an object may make a pod schedulable. Its arguments are the pod, the
#: object before the change (``None`` for a new object) and the object after it (``None`` for a deleted object).
QueueingHint = Callable[[Pod, Any, Any], bool]


class ClusterEventWithHint(msgspec.Struct, frozen=True):
    """An event that a plugin registers. Without a hint, every such event may help."""

    event: ClusterEvent
    hint: QueueingHint | None = None

    def helps(self, pod: Pod, old: ApiObject | None, new: ApiObject | None) -> bool:
        """Report whether the plugin wants the pod to be retried."""
        return self.hint is None or self.hint(pod, old, new)


def registered(resource: EventResource, action: ActionType, hint: QueueingHint | None = None) -> ClusterEventWithHint:
    """Return the registration of an event, with an optional hint."""
    return ClusterEventWithHint(ClusterEvent(resource, action), hint)


def same_pod(one: Pod, other: Pod) -> bool:
    """Report whether two objects are states of the same pod."""
    return (one.metadata.uid, one.key) == (other.metadata.uid, other.key)


def is_on_node(pod: Pod, *, or_nominated: bool) -> bool:
    """Report whether a pod is bound to a node or, with ``or_nominated``, nominated to one."""
    return bool(pod.spec.node_name) or (or_nominated and bool(pod.status.nominated_node_name))


def pod_changes(old: Pod, new: Pod, resource: EventResource, rules: RequestRules) -> Iterator[ClusterEvent]:
    """Yield the events that an update of a pod stands for (upstream ``PodSchedulingPropertiesChange``).

    Parameters
    ----------
    resource : EventResource
        The event resource of the pod.
    rules : RequestRules
        The release's rules for counting the pod's requests.
    """
    changed = []
    if old.metadata.labels != new.metadata.labels:
        changed.append(ActionType.UPDATE_POD_LABEL)
    if old is not new and _scaled_down(old, new, rules):
        changed.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        changed.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        changed.append(ActionType.UPDATE_POD_TOLERATION)
    if old.status.resource_claim_statuses != new.status.resource_claim_statuses:
        changed.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    for action in changed or [ActionType.UPDATE]:
        yield ClusterEvent(resource, action)


def _scaled_down(old: Pod, new: Pod, rules: RequestRules) -> bool:
    if old.spec == new.spec and old.status.container_statuses == new.status.container_statuses:
        return False
    after = pod_requests(new, rules)
    return any(name not in after or amount > after[name] for name, amount in pod_requests(old, rules).items())


def node_changes(old: Node, new: Node) -> Iterator[ClusterEvent]:
    """Yield the events that an update of a node stands for (upstream ``NodeSchedulingPropertiesChange``)."""
    changed = {
        ActionType.UPDATE_NODE_TAINT: (old.spec.taints != new.spec.taints)
        or (old.spec.unschedulable and not new.spec.unschedulable),
        ActionType.UPDATE_NODE_ALLOCATABLE: old.status.allocatable != new.status.allocatable,
        ActionType.UPDATE_NODE_LABEL: old.metadata.labels != new.metadata.labels,
        ActionType.UPDATE_NODE_ANNOTATION: old.metadata.annotations != new.metadata.annotations,
        ActionType.UPDATE_NODE_DECLARED_FEATURE: old.status.declared_features != new.status.declared_features,
    }
    for action, happened in changed.items():
        if happened:
            yield ClusterEvent(EventResource.NODE, action)


# The changes a plugin makes to cluster objects when a pod is bound, as data applied to the next cycle's cluster.

_RESOURCES: Final[dict[type[ApiObject], EventResource]] = {
    PersistentVolume: EventResource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: EventResource.PERSISTENT_VOLUME_CLAIM,
    StorageClass: EventResource.STORAGE_CLASS,
    CSINode: EventResource.CSI_NODE,
    CSIDriver: EventResource.CSI_DRIVER,
    CSIStorageCapacity: EventResource.CSI_STORAGE_CAPACITY,
    VolumeAttachment: EventResource.VOLUME_ATTACHMENT,
    ResourceClaim: EventResource.RESOURCE_CLAIM,
    ResourceSlice: EventResource.RESOURCE_SLICE,
    DeviceClass: EventResource.DEVICE_CLASS,
    PodGroup: EventResource.POD_GROUP,
    CompositePodGroup: EventResource.COMPOSITE_POD_GROUP,
}


class ObjectChange(msgspec.Struct, frozen=True):
    """The creation or update of an object.

    Attributes
    ----------
    new : ApiObject
        The object after the change: neither a node nor a pod.
    old : ApiObject or None
        The object before the change; ``None`` if it is created.
    """

    new: ApiObject
    old: ApiObject | None = None

    @property
    def event(self) -> ClusterEvent | None:
        """The cluster event that the scheduler receives; ``None`` for kinds that it does not watch."""
        resource = _RESOURCES.get(type(self.new))
        if resource is None:
            return None
        return ClusterEvent(resource, ActionType.ADD if self.old is None else ActionType.UPDATE)


def changed_objects(changes: Iterable[ObjectChange]) -> list[ApiObject]:
    """Return the objects after all changes; the last change of an object wins."""
    by_name = {(type(change.new), change.new.namespace, change.new.name): change.new for change in changes}
    return list(by_name.values())
