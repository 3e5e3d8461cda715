"""Volumes that are attached to one node at a time, and pods that wait because theirs is attached to another node.

The attach-detach controller (pkg/controller/volume/attachdetach, ``isMultiAttachForbidden``) does not attach a volume
to a second node unless one of its access modes is ReadWriteMany or ReadOnlyMany; the second pod waits with the event
FailedAttachVolume, "Multi-Attach error". The scheduler does not check it. Shared file systems and disks of a node are
not attached.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import (
    CSIDriver,
    InTreeVolumes,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    is_shared_or_local,
)
from kschedctl.scheduler.volumes.claims import claim_use, pod_claims

READ_WRITE_ONCE: Final = "ReadWriteOnce"
_SEVERAL: Final = frozenset({"ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"})


class AttachedElsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of a pod that another node uses."""

    claim: PersistentVolumeClaim
    #: The node that the claim's volume is attached to.
    node: str
    #: The pods there that use the claim, ``namespace/name``.
    users: tuple[str, ...]


def attach_once_claims(cluster: Cluster, pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """Yield the claims of a pod that are attached to one node at a time."""
    return (claim for claim in pod_claims(cluster, pod) if attaches_once(cluster, claim))


def attaches_once(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume of a claim is attached to one node at a time."""
    volume = cluster.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
    modes = volume.spec.access_modes if volume is not None else claim.spec.access_modes
    if READ_WRITE_ONCE not in modes or not _SEVERAL.isdisjoint(modes):
        return False
    names = [claim.spec.storage_class_name or ""]
    storage_class = cluster.get(StorageClass, names[0]) if names[0] else None
    if storage_class is not None:
        names.append(storage_class.provisioner)
    if volume is not None:
        sources = list(_sources(volume))
        if not sources:
            return False
        names += sources
    drivers = [cluster.get(CSIDriver, name) for name in names if name]
    if any(driver is not None and not driver.spec.attach_required for driver in drivers):
        return False
    return not any(map(is_shared_or_local, names))


def attached_elsewhere(cluster: Cluster, pod: Pod) -> AttachedElsewhere | None:
    """Return the first claim of a bound pod that pods on another node use, so that the pod cannot start.

    Terminating pods count: their volumes are detached once they are gone.
    """
    wanted = {claim.name: claim for claim in attach_once_claims(cluster, pod)}
    if not wanted:
        return None
    users: dict[tuple[str, str], list[str]] = {}
    for record in cluster.pods.records:
        if record.metadata.namespace != pod.namespace or record.node_name in ("", pod.spec.node_name):
            continue
        own = Pod(metadata=record.metadata, spec=record.spec)
        for use in filter(None, (claim_use(own, volume) for volume in record.spec.volumes)):
            if use.claim in wanted:
                users.setdefault((use.claim, record.node_name), []).append(own.key)
    if not users:
        return None
    by_volume = {claim.spec.volume_name: claim.name for claim in wanted.values() if claim.spec.volume_name}
    attached = {
        by_volume[each.spec.source.persistent_volume_name]: each.spec.node_name
        for each in cluster.list(VolumeAttachment)
        if each.spec.source.persistent_volume_name in by_volume
    }
    # The node with the VolumeAttachment comes first: the others wait for it as well.
    name, node = min(users, key=lambda use: (attached.get(use[0]) != use[1], use))
    return AttachedElsewhere(claim=wanted[name], node=node, users=tuple(users[name, node]))


def _sources(volume: PersistentVolume) -> Iterator[str]:
    """Yield the CSI driver or the kind of a volume; nothing for kinds that are not attached, such as NFS."""
    if volume.spec.csi is not None:
        yield volume.spec.csi.driver
    for field, name in zip(InTreeVolumes.__struct_fields__, InTreeVolumes.__struct_encode_fields__, strict=True):
        if getattr(volume.spec, field) is not None:
            yield name
