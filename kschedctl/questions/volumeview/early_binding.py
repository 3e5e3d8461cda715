"""Claims that are bound before their pods are scheduled, and so tie the pods to a zone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.volume import CSINode, PersistentVolume, StorageClass
from kschedctl.questions.answers.volumes import ClaimAction
from kschedctl.questions.volumeview.zones import usable_from, zones_of
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import WAIT_FOR_FIRST_CONSUMER
from kschedctl.trials.persistent_volumes import ClaimOutcome


@dataclass(frozen=True, slots=True)
class Trap:
    """The early binding of a claim: before its pod is scheduled, in a cluster of several zones.

    The volume's zone then limits the nodes for the pod, whatever else it requires. A class with the volume binding mode
    ``WaitForFirstConsumer`` avoids this.

    Attributes
    ----------
    storage_class : str
        The class that binds immediately.
    zones : tuple of str
        The zones of the volume; empty if it is not provisioned yet, and the provisioner chooses its zone.
    other_zones : tuple of str
        The cluster's zones from which the volume cannot be used; all of them if it is not provisioned yet.
    """

    storage_class: str
    zones: tuple[str, ...]
    other_zones: tuple[str, ...]


def find_trap(binder: Binder, outcome: ClaimOutcome, storage_class: StorageClass | None) -> Trap | None:
    """Return the early binding of a claim that ties its pods to zones, or ``None`` if there is none.

    Parameters
    ----------
    binder : Binder
        The binder over the claim's cluster.
    outcome : ClaimOutcome
        The action that the PersistentVolume controller would take.
    storage_class : StorageClass or None
        The claim's class, if it has one that exists.
    """
    if storage_class is None or storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    nodes = binder.cluster.nodes
    every = zones_of(nodes, np.ones(len(nodes), dtype=np.bool_))
    if len(every) < 2:
        return None
    if outcome.action in (ClaimAction.KEEP, ClaimAction.BIND):
        volume = binder.cluster.get(PersistentVolume, outcome.volume)
        zones = zones_of(nodes, usable_from(binder, outcome.claim, volume)) if volume is not None else every
        others = tuple(zone for zone in every if zone not in zones)
        return Trap(storage_class.name, zones, others) if others else None
    if outcome.action is ClaimAction.PROVISION and _is_zonal(binder.cluster, outcome.provisioner):
        return Trap(storage_class.name, (), every)
    return None


def _is_zonal(cluster: Cluster, driver: str) -> bool:
    """Report whether a CSI driver has topology keys on any node, so that its volumes may be tied to some nodes."""
    return any(
        entry.name == driver and entry.topology_keys
        for csi_node in cluster.list(CSINode)
        for entry in csi_node.spec.drivers
    )
