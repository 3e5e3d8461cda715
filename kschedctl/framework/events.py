"""Cluster events, and the queueing hints by which plugins tell whether one may help a pod that they turned away.

Upstream: ``ClusterEvent``, ``QueueingHintFn`` and ``EnqueueExtensions`` of the framework (KEP-4247). An event is a
kind of object and what happened to it. A pod that was found unschedulable is tried again only where a plugin that
rejected it has registered the event, and its hint does not say that this one is of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntFlag, StrEnum, auto
from typing import Any, Final

from kschedctl.api.core import Node
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.resources import RequestRules, pod_requests


class EventResource(StrEnum):
    """What an event is about.

    Events of pods tell those on nodes (``ASSIGNED_POD``), those without one (``UNSCHEDULED_POD``) and the pod itself
    that waits (``TARGET_POD``) apart; who registers ``POD`` means all of them.
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
    ANY = "*"


class ActionType(IntFlag):
    """What happened; an update says which property changed where the scheduler tells it apart."""

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


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A kind of object, and what happened to it.

    Attributes
    ----------
    label : str
        What the scheduler calls it where that is none of these, such as ``UnschedulableTimeout``.
    """

    resource: EventResource
    action: ActionType
    label: str = ""

    @property
    def is_wild_card(self) -> bool:
        """Whether it stands for everything that can happen."""
        return self.resource is EventResource.ANY and self.action == ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether who registered this event means one that came in."""
        if self.is_wild_card:
            return True
        same = self.resource in (EventResource.ANY, incoming.resource) or (
            self.resource is EventResource.POD and incoming.resource in _OF_PODS
        )
        return same and bool(self.action & incoming.action) and incoming.action <= self.action

    def __str__(self) -> str:
        names = "|".join(str(action.name) for action in ActionType if action in self.action)
        return self.label or f"{self.resource} {names}"


ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
NODE_ADD: Final = ClusterEvent(EventResource.NODE, ActionType.ADD)
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(EventResource.ANY, ActionType.ALL, "UnschedulableTimeout")
EVERYTHING: Final = ClusterEvent(EventResource.ANY, ActionType.ALL)

#: Whether what became of an object may make a pod schedulable: the pod, the object before (``None`` for a new one) and
#: after (``None`` for one that is gone).
QueueingHint = Callable[[Pod, Any, Any], bool]


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """An event that a plugin registers; without a hint every such event may help."""

    event: ClusterEvent
    hint: QueueingHint | None = None

    def helps(self, pod: Pod, old: ApiObject | None, new: ApiObject | None) -> bool:
        """Whether the plugin would have the pod tried again."""
        return self.hint is None or self.hint(pod, old, new)


def registered(resource: EventResource, action: ActionType, hint: QueueingHint | None = None) -> ClusterEventWithHint:
    """An event as plugins register it."""
    return ClusterEventWithHint(ClusterEvent(resource, action), hint)


def same_pod(one: Pod, other: Pod) -> bool:
    """Whether two states are of one pod."""
    return (one.metadata.uid, one.key) == (other.metadata.uid, other.key)


def is_on_node(pod: Pod, *, or_nominated: bool) -> bool:
    """Whether a pod is on a node, or counts on the one that it is nominated to."""
    return bool(pod.spec.node_name) or (or_nominated and bool(pod.status.nominated_node_name))


def pod_changes(old: Pod, new: Pod, resource: EventResource, rules: RequestRules) -> Iterator[ClusterEvent]:
    """The events that an update of a pod stands for (upstream ``PodSchedulingPropertiesChange``).

    Parameters
    ----------
    resource : EventResource
        Which kind of pod it is.
    rules : RequestRules
        How the release counts what it requests.
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
    """The events that an update of a node stands for (upstream ``NodeSchedulingPropertiesChange``)."""
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
