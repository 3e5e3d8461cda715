"""VolumeRestrictions: limits an inline disk to one pod per node and a ReadWriteOncePod claim to one pod at all."""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PodClass
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolumeClaim, Volume
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, required_state
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.runtime import signed_volumes
from kschedctl.scheduler.framework.status import SKIP, Code, Reason, Rejections, Status
from kschedctl.scheduler.volumes.claims import READ_WRITE_ONCE_POD, claim_not_found, claim_uses
from kschedctl.scheduler.volumes.reasons import claim_remedies

REASON_DISK: Final = "node(s) had no available disk"
_DISK, _ONCE = range(2)


def is_restricted(volume: Volume) -> bool:
    """Report whether the volume is a GCE, AWS, iSCSI or RBD disk, which two pods on a node cannot always share."""
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def disks_conflict(one: Volume, other: Volume) -> bool:
    """Report whether two pods on one node cannot use these two volumes.

    The volumes conflict if they are the same disk and at least one is writable. The same AWS disk always conflicts.
    """
    gce, other_gce = one.gce_persistent_disk, other.gce_persistent_disk
    if gce is not None and other_gce is not None and gce.pd_name == other_gce.pd_name:
        return not (gce.read_only and other_gce.read_only)
    ebs, other_ebs = one.aws_elastic_block_store, other.aws_elastic_block_store
    if ebs is not None and other_ebs is not None and ebs.volume_id == other_ebs.volume_id:
        return True
    iscsi, other_iscsi = one.iscsi, other.iscsi
    if iscsi is not None and other_iscsi is not None and iscsi.iqn == other_iscsi.iqn:
        return not (iscsi.read_only and other_iscsi.read_only)
    rbd, other_rbd = one.rbd, other.rbd
    if rbd is None or other_rbd is None or (rbd.pool, rbd.image) != (other_rbd.pool, other_rbd.image):
        return False
    return not (rbd.read_only and other_rbd.read_only) and not set(rbd.monitors).isdisjoint(other_rbd.monitors)


class ClaimInUse(Operands, frozen=True):
    """A ReadWriteOncePod claim of the pod is in use."""

    #: The claim, in the pod's namespace.
    claim: str
    #: ``namespace/name`` of the pod that uses it.
    pod: str

    def words(self) -> str:
        return f"claim {self.claim} is used by {self.pod}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to use another claim, or to delete the pod that uses the claim."""
        yield from claim_remedies(context, self.claim)
        yield from context.pod_removed(self.pod)


class ClaimOfNominatedPod(Operands, frozen=True):
    """A pod nominated to the node would use a ReadWriteOncePod claim of the pod."""

    def words(self) -> str:
        return "the claim is used by a pod nominated to the node"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to use another claim."""
        return claim_remedies(context)


class DiskInUse(Operands, frozen=True):
    """A pod on the node uses a disk of the pod."""

    #: The name of the volume with that disk, in the spec of the pod to place.
    volume: str
    #: ``namespace/name`` of the pod that uses the disk.
    pod: str

    def words(self) -> str:
        return f"the disk of volume {self.volume} is used by {self.pod}"

    def data(self) -> dict[str, Any]:
        return {"pod": self.pod}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to delete the pod that uses the disk."""
        yield from context.pod_removed(self.pod)


class DiskOfNominatedPod(Operands, frozen=True):
    """A pod nominated to the node would use a disk of the pod."""

    def words(self) -> str:
        return "the disk is used by a pod nominated to the node"


class _State(msgspec.Struct, frozen=True):
    """The pod's exclusive disks and claims, and their users."""

    #: The pod's restricted disks.
    disks: tuple[Volume, ...]
    #: 1 for pod classes with a disk that conflicts with one of ``disks``.
    disk_users: Int64Array
    #: The pod's ReadWriteOncePod claims.
    claims: frozenset[str]
    #: The number of mounts of a claim with one of these names, per pod of the class.
    claim_users: Int64Array
    #: The number of the pod's ReadWriteOncePod claims that pods on nodes use.
    in_use: int


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/volumerestrictions."""

    name = "VolumeRestrictions"
    reads = Dependencies(pods=Reach.CLUSTER, kinds=frozenset({PersistentVolumeClaim}))

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            registered(self.handle.pods_that_wake(EventResource.ASSIGNED_POD), ActionType.DELETE, _after_pod_deleted),
            registered(EventResource.NODE, ActionType.ADD),
            registered(
                EventResource.PERSISTENT_VOLUME_CLAIM,
                ActionType.ADD,
                lambda pod, old, new: new.namespace == pod.namespace and new.name in _mounted_claims(pod),
            ),
        )

    def losses_can_hurt(self, state: CycleState, pod: Pod) -> bool:
        return False

    def reach_of_pods(self, pod: Pod) -> Reach:
        shares = any(_mounted_claims(pod)) or any(is_restricted(volume) for volume in pod.spec.volumes)
        return Reach.CLUSTER if shares else Reach.NOTHING

    def sign_pod(self, pod: Pod) -> Hashable:
        return signed_volumes(pod)

    def remedies(self, context: RemedyContext, status: Status) -> Iterator[Remedy]:
        """Propose to use another claim in place of one that does not exist."""
        return claim_remedies(context)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        cluster = self.handle.cluster
        claims = set()
        for name in _mounted_claims(pod):
            claim = cluster.get(PersistentVolumeClaim, name, pod.namespace)
            if claim is None and cluster.is_forbidden(PersistentVolumeClaim, pod.namespace):
                continue
            if claim is None:
                return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (claim_not_found(name),)))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                claims.add(name)
        disks = tuple(volume for volume in pod.spec.volumes if is_restricted(volume))
        in_use = self._claims_in_use(pod.namespace, claims)
        if not disks and not in_use:
            return PreFilterResult(SKIP)
        disk_users = np.zeros(len(cluster.pods.classes), dtype=np.int64)
        for i, volumes in cluster.pods.classes_having(_restricted_disks):
            disk_users[i] = any(disks_conflict(disk, used) for used in volumes for disk in disks)
        # The namespace is ignored, as in upstream's counting of added and removed pods.
        claim_users = np.zeros(len(cluster.pods.classes), dtype=np.int64)
        for i, names in cluster.pods.classes_having(_claims_of_class):
            claim_users[i] = sum(name in claims for name in names)
        state.write(_State(disks, disk_users, frozenset(claims), claim_users, in_use))
        return PreFilterResult()

    def _claims_in_use(self, namespace: str, claims: set[str]) -> int:
        """Return the number of the claims that are mounted by a pod on a node."""
        pods = self.handle.cluster.pods
        if not claims:
            return 0
        mounted = {
            i: claims.intersection(names)
            for i, names in pods.classes_having(_claims_of_class)
            if pods.classes[i].namespace == namespace
        }
        users = np.array([i for i, names in mounted.items() if names], dtype=np.int64)
        on_nodes = np.unique(pods.cells(users)[0]) if len(users) else users
        return len({name for i in on_nodes.tolist() for name in mounted[i]})

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(state, _State, 'cannot read "PreFilterVolumeRestrictions" from cycleState')
        users = self.handle.cluster.pods.sum_per_node(found.disk_users)[nodes.rows]
        users = users + nodes.delta((self.name, "disk"), found.disk_users)
        in_use = found.in_use + nodes.delta((self.name, "claim"), found.claim_users)
        which = np.where(in_use > 0, _ONCE, -1) + np.zeros(len(nodes), dtype=np.int64)
        which[users > 0] = _DISK

        def details(position: int) -> tuple[Reason, ...]:
            if which[position] == _ONCE:
                return (self._claim_reason(pod, found),)
            return (self._disk_reason(found, int(nodes.rows[position])),)

        reasons = (REASON_DISK, self.handle.release.claim_in_use)
        return Rejections.choose(which, tuple(Status(Code.UNSCHEDULABLE, (said,)) for said in reasons), details)

    def _claim_reason(self, pod: Pod, found: _State) -> Reason:
        pods = self.handle.cluster.pods
        for index in pods.assigned[found.claim_users[pods.class_id[pods.assigned]] > 0]:
            other = pods.classes[pods.class_id[index]].pod
            if other.namespace == pod.namespace:
                claim = next(name for name in _mounted_claims(other) if name in found.claims)
                return Reason(self.handle.release.claim_in_use, ClaimInUse(claim, pods.key(int(index))))
        return Reason(self.handle.release.claim_in_use, ClaimOfNominatedPod())

    def _disk_reason(self, found: _State, row: int) -> Reason:
        pods = self.handle.cluster.pods
        for index in pods.on_node(row):
            if found.disk_users[pods.class_id[index]]:
                used = pods.classes[pods.class_id[index]].pod.spec.volumes
                disk = next(disk for disk in found.disks if any(disks_conflict(disk, volume) for volume in used))
                return Reason(REASON_DISK, DiskInUse(disk.name, pods.key(int(index))))
        return Reason(REASON_DISK, DiskOfNominatedPod())


def _restricted_disks(pod_class: PodClass) -> tuple[Volume, ...]:
    return tuple(volume for volume in pod_class.pod.spec.volumes if is_restricted(volume))


def _claims_of_class(pod_class: PodClass) -> list[str]:
    return _mounted_claims(pod_class.pod)


def _mounted_claims(pod: Pod) -> list[str]:
    """Return the claims named in the pod's spec; claims of ephemeral volumes belong to one pod and are left out."""
    return [use.claim for use in claim_uses(pod) if not use.ephemeral]


def _after_pod_deleted(pod: Pod, old: Pod, new: None) -> bool:
    if old.namespace != pod.namespace:
        return False
    disks = [volume for volume in pod.spec.volumes if is_restricted(volume)]
    if any(disks_conflict(disk, used) for disk in disks for used in old.spec.volumes):
        return True
    return not set(_mounted_claims(pod)).isdisjoint(_mounted_claims(old))
