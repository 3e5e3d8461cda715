"""The CSI volumes of pods that NodeVolumeLimits counts as attached to a node (``filterAttachableVolumes``)."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolumeClaim, Volume
from kschedctl.scheduler.volumes.claims import (
    NO_CLAIM_NAME,
    claim_key,
    claim_not_found,
    not_owned,
    storage_class_of,
    volume_of,
)
from kschedctl.scheduler.volumes.migration import (
    PLUGINS_BY_NAME,
    PORTWORX,
    InTreePlugin,
    MigrationError,
    in_tree_plugin,
    inline_handle,
    volume_handle,
)
from kschedctl.scheduler.volumes.pod_claims import claim_use


class Needs(IntEnum):
    """The properties a node must have for a volume to count there; each level includes those below it."""

    NOTHING = 0
    CSI_NODE = 1
    MIGRATED_PORTWORX = 2


class Attachable(msgspec.Struct, frozen=True):
    """A CSI volume that counts against a node's limit.

    Attributes
    ----------
    driver, handle : str
        The CSI driver, and the volume's handle; a claim without a volume has a unique handle.
    needs : Needs
        The properties a node must have for the volume to count there.
    claim : str
        The key of the claim, ``namespace/name``; empty for a disk that the pod names directly.
    """

    driver: str
    handle: str
    needs: Needs
    claim: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """The driver and handle, by which volumes are distinguished."""
        return self.driver, self.handle


class Unattachable(msgspec.Struct, frozen=True):
    """A volume that cannot be counted.

    Attributes
    ----------
    problem : str
        The reason why it cannot be counted.
    needs : Needs
        The properties a node must have for the problem to matter there.
    missing : bool
        True if the claim does not exist, which rejects the pod; every other problem is an error.
    """

    problem: str
    needs: Needs
    missing: bool = False


def counts_volumes(pod: Pod) -> bool:
    """Report whether a pod has any volume that a CSI driver could attach."""
    return any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_plugin(volume) is not None
        for volume in pod.spec.volumes
    )


def attachable_volumes(cluster: Cluster, pod: Pod, *, new: bool) -> list[Attachable | Unattachable]:
    """Return the volumes of a pod that count against limits, in the pod's order.

    Parameters
    ----------
    pod : Pod
        The pod, with its name and uid if it has ephemeral volumes.
    new : bool
        True for the pod to be scheduled; for other pods, claims that do not exist are not counted. Claims that could
        not be listed never are.
    """
    found = (_attachable(cluster, pod, volume, new=new) for volume in pod.spec.volumes)
    return [volume for volume in found if volume is not None]


def _attachable(cluster: Cluster, pod: Pod, volume: Volume, *, new: bool) -> Attachable | Unattachable | None:
    use = claim_use(pod, volume)
    if use is None:
        return _inline(volume)
    name = use.claim
    if not name:
        return Unattachable(NO_CLAIM_NAME, Needs.NOTHING)
    claim = cluster.get(PersistentVolumeClaim, name, pod.namespace)
    if claim is None:
        problem = f"looking up PVC {pod.namespace}/{name}: {claim_not_found(name)}"
        is_known = new and not cluster.is_forbidden(PersistentVolumeClaim, pod.namespace)
        return Unattachable(problem, Needs.NOTHING, missing=True) if is_known else None
    if use.ephemeral:
        problem = not_owned(claim, pod)
        if problem:
            return Unattachable(problem, Needs.NOTHING)
    return _of_claim(cluster, claim)


def _inline(volume: Volume) -> Attachable | Unattachable | None:
    plugin = in_tree_plugin(volume)
    if plugin is None or not plugin.translated:
        return None
    try:
        return Attachable(plugin.driver, inline_handle(volume), _needs(plugin))
    except MigrationError as error:
        return Unattachable(f"converting volume({volume.name}) from inline to csi: {error}", _needs(plugin))


def _of_claim(cluster: Cluster, claim: PersistentVolumeClaim) -> Attachable | None:
    """Return the volume of a claim, or a placeholder for the volume that its class's provisioner will create."""
    volume = volume_of(cluster, claim)
    key = claim_key(claim)
    if volume is None:
        storage_class = storage_class_of(cluster, claim)
        if storage_class is None or not storage_class.provisioner:
            return None
        plugin = PLUGINS_BY_NAME.get(storage_class.provisioner)
        # The handle is unique: neither a claim's name nor a driver's handle starts with a line break.
        handle = f"\n{key}"
        if plugin is None:
            return Attachable(storage_class.provisioner, handle, Needs.NOTHING, key)
        return Attachable(plugin.driver, handle, _needs(plugin), key) if plugin.translated else None
    csi = volume.spec.csi
    if csi is not None:
        named = csi.driver and csi.volume_handle
        return Attachable(csi.driver, csi.volume_handle, Needs.NOTHING, key) if named else None
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not plugin.translated:
        return None
    try:
        handle = volume_handle(volume)
    except MigrationError:
        return None
    return Attachable(plugin.driver, handle, _needs(plugin), key) if handle else None


def _needs(plugin: InTreePlugin) -> Needs:
    return Needs.MIGRATED_PORTWORX if plugin is PORTWORX else Needs.CSI_NODE
