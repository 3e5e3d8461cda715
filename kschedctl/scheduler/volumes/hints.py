"""Queueing hints: events that may help a pod rejected by a volume plugin (``isSchedulableAfter...`` of the plugins)."""

from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.volume import (
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kschedctl.scheduler.volumes.claims import WAIT_FOR_FIRST_CONSUMER, claim_uses
from kschedctl.scheduler.volumes.csi_nodes import in_tree_plugin, migrated_plugins
from kschedctl.scheduler.volumes.zones import volume_labels


def after_claim_change(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """Report whether the claim is one of the pod's."""
    return new.namespace == pod.namespace and any(use.claim == new.name for use in claim_uses(pod))


def after_class_change(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:
    """Report whether the class is new, or its allowed topologies have changed."""
    return old is None or old.allowed_topologies != new.allowed_topologies


def after_delayed_class_added(pod: Pod, old: None, new: StorageClass) -> bool:
    """Report whether the class binds claims only once a pod uses them."""
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def after_volume_change(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    """Report whether the volume is new, or its zones have changed."""
    return old is None or volume_labels(old) != volume_labels(new)


def after_csi_node_change(pod: Pod, old: CSINode | None, new: CSINode) -> bool:
    """Report whether the CSINode is new, or its migrated in-tree plugins have changed."""
    return old is None or migrated_plugins(old) != migrated_plugins(new)


def after_limit_change(pod: Pod, old: CSINode, new: CSINode) -> bool:
    """Report whether the volume limit of a driver on the node has risen."""
    limits = {driver.name: _limit(driver) for driver in old.spec.drivers}
    return any(_limit(driver) > limits.get(driver.name, 0) for driver in new.spec.drivers)


def _limit(driver: CSINodeDriver) -> int:
    count = driver.allocatable.count if driver.allocatable is not None else None
    return count or 0


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver) -> bool:
    """Report whether a driver of the pod's inline CSI volumes has stopped checking storage capacity."""
    names = (volume.csi.driver for volume in pod.spec.volumes if volume.csi is not None)
    return new.name in names and bool(old.spec.storage_capacity) and not new.spec.storage_capacity


def after_capacity_change(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
    """Report whether the storage is new or allows larger volumes."""
    if old is None:
        return True
    before, after = _volume_limit(old), _volume_limit(new)
    return after is not None and (before is None or after > before)


def _volume_limit(capacity: CSIStorageCapacity) -> int | None:
    text = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return None if text is None else parse_quantity(text)


def after_volume_detached(pod: Pod, old: VolumeAttachment, new: None) -> bool:
    """Report whether the pod may be able to attach a volume after one was detached."""
    if any(not use.ephemeral for use in claim_uses(pod)):
        return True
    plugins = (in_tree_plugin(volume) for volume in pod.spec.volumes)
    return any(plugin is not None and plugin.driver == old.spec.attacher for plugin in plugins)
