"""The changes a plugin makes to cluster objects when a pod is bound, as data applied to the next cycle's cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.volume import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kschedctl.scheduler.framework.events import ActionType, ClusterEvent, EventResource

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
