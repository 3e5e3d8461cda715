"""The action of the PersistentVolume controller on a claim at its next sync, before any new pod uses the claim.

Source: pkg/controller/volume/persistentvolume ``syncClaim``. The messages are those of the events on the claim.
"""

from dataclasses import dataclass
from dataclasses import replace as with_fields
from itertools import groupby
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import default_storage_class, has_class
from kschedctl.cluster.records import PENDING
from kschedctl.objects.selectors import Selector, SelectorError
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.scheduler.volumes.claims import (
    BIND_COMPLETED,
    SELECTED_NODE,
    claim_class,
    claim_uses,
    class_not_found,
    is_bound_to,
    is_delayed,
    is_undecidable,
    storage_capacity,
)
from kschedctl.scheduler.volumes.csi_nodes import PLUGINS_BY_NAME
from kschedctl.scheduler.volumes.matching import (
    Mismatch,
    access_modes_mismatch,
    claim_selector,
    mismatches,
    serves_access_modes,
)
from kschedctl.trials.claim_action import ClaimAction

# The decision of the PersistentVolume controller about a claim.


@dataclass(frozen=True, slots=True)
class Rejected:
    """A volume that the controller does not bind to the claim."""

    volume: str
    #: The reasons; empty if the volume matches but another one takes precedence.
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """The controller's action on a claim."""

    #: The claim, including the default class if the controller sets it.
    claim: PersistentVolumeClaim
    #: The action that the controller takes.
    action: ClaimAction
    #: The message of the event on the claim; empty if there is none.
    message: str = ""
    #: The name of the volume concerned; empty if there is none.
    volume: str = ""
    #: The provisioner that is to create a volume; empty if there is none.
    provisioner: str = ""
    #: The default class that the controller sets on the claim; empty if it sets none.
    default_class: str = ""
    #: The other volumes with the reasons against them, in snapshot order; empty for a bound claim.
    rejected: tuple[Rejected, ...] = ()


# The choice of the volume that the controller binds a claim to, and the reasons against all others.
#
# Source: pkg/controller/volume/persistentvolume ``findBestMatchForClaim``.

_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


def find_best_match(
    cluster: Cluster, claim: PersistentVolumeClaim, selector: Selector | None, *, delayed: bool
) -> PersistentVolume | None:
    """Return the volume that the controller binds a claim to, or ``None``.

    Volumes with fewer access modes take precedence. Among these, a volume that names the claim comes first, then the
    smallest. If the class waits for the first consumer, only a volume that names the claim is bound.
    """

    def modes(volume: PersistentVolume) -> tuple[int, list[int]]:
        indices = sorted({_MODES.index(mode) for mode in volume.spec.access_modes if mode in _MODES})
        return len(indices), indices

    serving = [v for v in cluster.list(PersistentVolume) if serves_access_modes(claim, v)]
    for _, group in groupby(sorted(serving, key=modes), key=modes):
        fitting = [volume for volume in group if next(mismatches(claim, volume, selector), None) is None]
        named = next((volume for volume in fitting if is_bound_to(volume, claim)), None)
        if named is not None:
            return named
        if fitting and not delayed:
            return min(fitting, key=storage_capacity)
    return None


def rejected_volumes(
    cluster: Cluster, claim: PersistentVolumeClaim, selector: Selector | None, chosen: str
) -> tuple[Rejected, ...]:
    """Return the other volumes with the reasons against them, in snapshot order."""
    out = []
    for volume in cluster.list(PersistentVolume):
        if volume.name != chosen:
            found = tuple(mismatches(claim, volume, selector))
            if is_bound_to(volume, claim) and not serves_access_modes(claim, volume):
                found = (*found, access_modes_mismatch(claim, volume))
            out.append(Rejected(volume.name, found))
    return tuple(out)


_IN_TREE_PREFIX: Final = "kubernetes.io/"


def sync_claim(cluster: Cluster, claim: PersistentVolumeClaim) -> ClaimOutcome:
    """Decide the controller's action on a claim.

    Raises SnapshotError if a size is not a quantity.
    """
    if is_undecidable(cluster, claim):
        # The controller would have changed the phase of a claim that has lost its volume.
        action = ClaimAction.KEEP if claim.status.phase == "Bound" else ClaimAction.UNKNOWN
        return ClaimOutcome(claim, action, volume=claim.spec.volume_name)
    if BIND_COMPLETED in claim.metadata.annotations:
        name = claim.spec.volume_name
        if not name:
            message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            return ClaimOutcome(claim, ClaimAction.LOST, message)
        volume = cluster.get(PersistentVolume, name)
        if volume is None:
            message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            return ClaimOutcome(claim, ClaimAction.LOST, message, name)
        reference = volume.spec.claim_ref
        if reference is None:
            return ClaimOutcome(claim, ClaimAction.BIND, volume=name)
        if reference.uid == claim.metadata.uid:
            return ClaimOutcome(claim, ClaimAction.KEEP, volume=name)
        message = "Two claims are bound to the same volume, this one is bound incorrectly"
        return ClaimOutcome(claim, ClaimAction.LOST, message, name)
    if claim.spec.volume_name:
        return _sync_named(cluster, claim)
    try:
        selector = claim_selector(claim)
    except SelectorError as error:
        return ClaimOutcome(claim, ClaimAction.FAILED_BINDING, str(error))
    return _sync_unbound(cluster, claim, selector)


def _sync_named(cluster: Cluster, claim: PersistentVolumeClaim) -> ClaimOutcome:
    """Bind a claim that names its volume to that volume, or to none."""
    name = claim.spec.volume_name
    volume = cluster.get(PersistentVolume, name)
    if volume is None:
        return ClaimOutcome(claim, ClaimAction.WAIT_FOR_VOLUME, volume=name)
    if is_bound_to(volume, claim):
        return ClaimOutcome(claim, ClaimAction.BIND, volume=name)
    if volume.spec.claim_ref is not None:
        message = f'volume "{name}" already bound to a different claim.'
        rejected = Rejected(name, tuple(m for m in mismatches(claim, volume, None) if m.field == "claimRef"))
        return ClaimOutcome(claim, ClaimAction.FAILED_BINDING, message, name, rejected=(rejected,))
    # The controller ignores the phase and labels of a volume that the claim names.
    found = {m.field: m for m in mismatches(claim, volume, None) if m.field in _NAMED_PROBLEMS}
    first = next((text for field, text in _NAMED_PROBLEMS.items() if field in found), None)
    if first is None:
        return ClaimOutcome(claim, ClaimAction.BIND, volume=name)
    message = f'Cannot bind to requested volume "{name}": {first.format(volume=name)}'
    rejected = Rejected(name, tuple(found.values()))
    return ClaimOutcome(claim, ClaimAction.VOLUME_MISMATCH, message, name, rejected=(rejected,))


#: The fields checked on a volume that a claim names, in order of evaluation, with the controller's messages.
_NAMED_PROBLEMS: Final = {
    "deletionTimestamp": 'the volume is marked for deletion "{volume}"',
    "capacity": "requested PV is too small",
    "storageClassName": "storageClassName does not match",
    "volumeAttributesClassName": "volumeAttributesClassName does not match",
    "volumeMode": "incompatible volumeMode",
    "accessModes": "incompatible accessMode",
}


def _sync_unbound(cluster: Cluster, claim: PersistentVolumeClaim, selector: Selector | None) -> ClaimOutcome:
    delayed = is_delayed(cluster, claim)
    volume = find_best_match(cluster, claim, selector, delayed=delayed)
    chosen = volume.name if volume is not None else ""
    rejected = rejected_volumes(cluster, claim, selector, chosen)
    if volume is not None:
        return ClaimOutcome(claim, ClaimAction.BIND, volume=chosen, rejected=rejected)
    if not has_class(claim):
        default = default_storage_class(cluster)
        if default is not None:
            # The controller writes the default class into the claim and starts again.
            given = replace(claim, spec=replace(claim.spec, storage_class_name=default.name))
            return with_fields(_sync_unbound(cluster, given, selector), default_class=default.name)
    if delayed and SELECTED_NODE not in claim.metadata.annotations:
        pods = cluster.pods
        consumers = [
            pods.records[index].metadata.name
            for index in np.flatnonzero(pods.node_row == PENDING).tolist()
            if pods.records[index].metadata.namespace == claim.namespace
            and any(use.claim == claim.name for use in claim_uses(pods.pod(index)))
        ]
        action, message = ClaimAction.WAIT_FOR_FIRST_CONSUMER, "waiting for first consumer to be created before binding"
        if consumers:
            noun = "pod" if len(consumers) == 1 else "pods"
            action, message = ClaimAction.WAIT_FOR_POD, f"waiting for {noun} {','.join(consumers)} to be scheduled"
        return ClaimOutcome(claim, action, message, rejected=rejected)
    if claim_class(claim):
        action, message, provisioner = _provision(cluster, claim)
        return ClaimOutcome(claim, action, message, provisioner=provisioner, rejected=rejected)
    message = "no persistent volumes available for this claim and no storage class is set"
    return ClaimOutcome(claim, ClaimAction.FAILED_BINDING, message, rejected=rejected)


def _provision(cluster: Cluster, claim: PersistentVolumeClaim) -> tuple[ClaimAction, str, str]:
    name = claim_class(claim)
    storage_class = cluster.get(StorageClass, name)
    if storage_class is None:
        return ClaimAction.PROVISIONING_FAILED, class_not_found(name), ""
    provisioner = storage_class.provisioner
    plugin = PLUGINS_BY_NAME.get(provisioner)
    if plugin is None and provisioner.startswith(_IN_TREE_PREFIX):
        return ClaimAction.PROVISIONING_FAILED, f"no volume plugin matched name: {provisioner}", ""
    driver = plugin.driver if plugin is not None else provisioner
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{driver}' or manually by the system "
        "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
        "registered."
    )
    return ClaimAction.PROVISION, message, driver
