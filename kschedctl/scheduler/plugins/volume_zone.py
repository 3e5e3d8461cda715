"""VolumeZone: a bound volume's zone and region labels must match the node's, if the node has such labels."""

from collections.abc import Hashable, Iterator
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.wording import show_labels
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.explanation import FilterCheck
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, required_state
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.runtime import signed_volumes
from kschedctl.scheduler.framework.status import SKIP, Code, Reason, Rejections, Status
from kschedctl.scheduler.volumes.claims import (
    NO_CLAIM_NAME,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_not_found,
    claim_uses,
    class_not_found,
    is_undecidable,
)
from kschedctl.scheduler.volumes.hints import after_claim_change, after_delayed_class_added, after_volume_change
from kschedctl.scheduler.volumes.reasons import claim_remedies, elsewhere_remedies
from kschedctl.scheduler.volumes.zones import VolumeLabel, volume_labels, zoned_nodes

REASON: Final = "node(s) had no available volume zone"
_KINDS: Final[frozenset[type[ApiObject]]] = frozenset({PersistentVolumeClaim, PersistentVolume, StorageClass})


class _UnusableClaimError(Exception):
    """The error for a claim that rejects the pod, because its volume's zone cannot be found."""


class OtherZone(Operands, frozen=True):
    """A volume of the pod is in another zone or region than the node."""

    #: The claim, in the pod's namespace.
    claim: str
    #: The volume that the claim is bound to.
    volume: str
    #: The key of the volume's zone or region label.
    label: str
    #: The volume's zones or regions.
    volume_values: tuple[str, ...]
    #: The node's zone or region; ``None`` if the node has no such label.
    node_value: str | None

    def words(self) -> str:
        kind = VolumeLabel(self.volume, self.label, self.volume_values).kind
        where = f"in {kind} {self.node_value}" if self.node_value is not None else f"in no {kind}"
        zones = " or ".join(self.volume_values)
        return f"claim {self.claim} is on volume {self.volume} in {kind} {zones}, the node is {where}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to move the volume to the node's zone, or to use another claim."""
        return elsewhere_remedies(context, self.claim, self.volume)


class _State(msgspec.Struct, frozen=True):
    """The zone and region labels of the pod's volumes, each with its claim."""

    labels: tuple[tuple[str, VolumeLabel], ...]


class VolumeZone(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/volumezone."""

    name = "VolumeZone"
    reads = Dependencies(nodes=Reach.NODE, kinds=_KINDS)
    prepares_from = Dependencies(kinds=_KINDS)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            registered(EventResource.STORAGE_CLASS, ActionType.ADD, after_delayed_class_added),
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            registered(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE, after_claim_change),
            registered(EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.UPDATE, after_volume_change),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        return signed_volumes(pod)

    def remedies(self, context: RemedyContext, status: Status) -> Iterator[Remedy]:
        """Propose to use another claim in place of one without a usable volume."""
        return claim_remedies(context)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Collect the labels of the pod's bound volumes, or return Skip if there are none.

        Ephemeral volumes are ignored.
        """
        labels: list[tuple[str, VolumeLabel]] = []
        try:
            for use in claim_uses(pod):
                found = None if use.ephemeral else _bound_volume(self.handle.cluster, pod.namespace, use.claim)
                if found is not None:
                    labels += [(use.claim, label) for label in volume_labels(found)]
        except _UnusableClaimError as error:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(error),)))
        if not labels:
            return PreFilterResult(SKIP)
        state.write(_State(tuple(labels)))
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(state, _State, 'reading "PreFilterVolumeZone" from cycleState: not found')
        table = self.handle.cluster.nodes
        conflict = np.zeros(len(table), dtype=np.bool_)
        for _, label in found.labels:
            conflict |= ~label.matches(table)
        # Upstream treats a node without zone and region labels as part of a cluster without zones.
        conflict &= zoned_nodes(table)

        def details(position: int) -> tuple[Reason, ...]:
            row = int(nodes.rows[position])
            claim, label = next((claim, label) for claim, label in found.labels if not label.matches(table)[row])
            own = label.value_on(table, row)
            return (Reason(REASON, OtherZone(claim, label.volume, label.key, label.values, own)),)

        return Rejections.where(conflict[nodes.rows], Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, details)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        found, table = state.read(_State), self.handle.cluster.nodes
        zoned = bool(zoned_nodes(table)[row])
        checks = []
        for claim, label in found.labels if found is not None else ():
            has = label.value_on(table, row)
            told = show_labels({label.key: has}) if zoned else "no zone or region label, so any zone is accepted"
            wanted = f"claim {claim} on {label.volume}: {label.key} {' or '.join(label.values)}"
            checks.append(FilterCheck(wanted, f"node has {told}", not zoned or bool(label.matches(table)[row])))
        return tuple(checks)


def _bound_volume(cluster: Cluster, namespace: str, name: str) -> PersistentVolume | None:
    """Return the volume of a claim; ``None`` for an unbound claim with WaitForFirstConsumer, or if it is not known.

    Raises _UnusableClaimError if the claim has no name, does not exist, has a volume that does not exist, or is
        unbound without a class that binds late.
    """
    if not name:
        raise _UnusableClaimError(NO_CLAIM_NAME)
    claim = cluster.get(PersistentVolumeClaim, name, namespace)
    if claim is None and cluster.is_forbidden(PersistentVolumeClaim, namespace):
        return None
    if claim is None:
        raise _UnusableClaimError(claim_not_found(name))
    if is_undecidable(cluster, claim):
        return None
    if claim.spec.volume_name:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            raise _UnusableClaimError(f'persistentvolume "{claim.spec.volume_name}" not found')
        return volume
    class_name = claim_class(claim)
    if not class_name:
        raise _UnusableClaimError("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = cluster.get(StorageClass, class_name)
    if storage_class is None:
        raise _UnusableClaimError(class_not_found(class_name))
    if storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:
        raise _UnusableClaimError("PersistentVolume had no name")
    return None
