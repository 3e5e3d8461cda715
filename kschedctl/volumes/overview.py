"""The volumes of a claim or a pod at a glance: state, what the controller would do, and what the binder would, by node.

Data only; nothing here words or prints more than a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.api.storage import CSINode, StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.arrays import Mask
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.volumes.binder import Binder
from kschedctl.volumes.claims import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_uses,
    claims_problem,
    pod_claims,
)
from kschedctl.volumes.controller import Action, ClaimOutcome, sync_claim
from kschedctl.volumes.on_nodes import NodeOverview, claims_on_nodes
from kschedctl.volumes.zones import in_zone, zones_of


@dataclass(frozen=True, slots=True)
class Trap:
    """A claim that is bound before its pod is placed, in a cluster of several zones.

    The volume's zone then decides where the pod can go, whatever else it needs. A class that waits for the first
    consumer does not do that.

    Attributes
    ----------
    storage_class : str
        The class that binds immediately.
    zones : tuple of str
        The zones of the volume; empty where it is not made yet, and its zone is for the provisioner to choose.
    other_zones : tuple of str
        The cluster's zones from which it cannot be used; all of them where it is not made yet.
    """

    storage_class: str
    zones: tuple[str, ...]
    other_zones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimOverview:
    """One claim.

    Attributes
    ----------
    claim : PersistentVolumeClaim
        The claim.
    outcome : ClaimOutcome
        What the PersistentVolume controller would do with it.
    volume : PersistentVolume or None
        Its volume, where it has one that exists.
    storage_class : StorageClass or None
        Its class, where it has one that exists; the default class where it would be given that.
    zones : tuple of str
        The zones it ties its pods to; empty where it leaves all zones open, or no node.
    stranded : bool
        Whether it has a volume that can be used from no node.
    pods : tuple of str
        ``namespace/name`` of the pods that use it.
    trap : Trap or None
        Whether it ties pods down before they are placed.
    """

    claim: PersistentVolumeClaim
    outcome: ClaimOutcome
    volume: PersistentVolume | None
    storage_class: StorageClass | None
    zones: tuple[str, ...]
    stranded: bool
    pods: tuple[str, ...]
    trap: Trap | None


@dataclass(frozen=True, slots=True)
class PodOverview:
    """The claims of a pod.

    Attributes
    ----------
    pod : Pod
        The pod.
    problem : str
        Why its claims cannot be used on any node, in the scheduler's words; empty where they can.
    claims : tuple of ClaimOverview
        Its claims that exist, in the order of its volumes.
    zones : tuple of str
        The zones it is tied to by claims that have a volume; empty where all are open, or none is left.
    selected_zones : tuple of str
        The zones it is tied to by its node selector and node affinity; empty where all are open, or none is left.
    conflict : bool
        Whether its node selection and its claims together leave no node.
    nodes : tuple of NodeOverview
        What becomes of the claims together on each node, in the order of the snapshot.
    """

    pod: Pod
    problem: str
    claims: tuple[ClaimOverview, ...]
    zones: tuple[str, ...]
    selected_zones: tuple[str, ...]
    conflict: bool
    nodes: tuple[NodeOverview, ...]


class VolumeOverview:
    """Overviews over one cluster.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._binder = Binder(cluster)
        self._users: dict[tuple[str, str], list[str]] | None = None

    def claim(self, claim: PersistentVolumeClaim) -> ClaimOverview:
        """One claim by itself.

        Raises
        ------
        SnapshotError
            Where a size is not a quantity.
        """
        cluster = self._cluster
        outcome = sync_claim(cluster, claim)
        effective = outcome.claim
        name = claim_class(effective)
        storage_class = cluster.get(StorageClass, name) if name else None
        volume = cluster.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
        open_ = self._open_nodes((claim,))
        return ClaimOverview(
            claim,
            outcome,
            volume,
            storage_class,
            self._tied_zones(open_),
            not open_.any(),
            tuple(self._pods_using(claim)),
            self._trap(outcome, storage_class),
        )

    def on_nodes(self, claim: PersistentVolumeClaim) -> tuple[NodeOverview, ...]:
        """What would become of a claim on each node, for a pod that uses no other.

        Raises
        ------
        SnapshotError
            Where a size is not a quantity.
        SelectorError
            Where the claim's selector is wrong.
        """
        return claims_on_nodes(self._cluster, self._binder, (claim,))

    def claims(self) -> tuple[ClaimOverview, ...]:
        """All claims of the cluster, in the order of the snapshot."""
        return tuple(self.claim(claim) for claim in self._cluster.list(PersistentVolumeClaim))

    def pod(self, pod: Pod) -> PodOverview:
        """The claims of a pod, each by itself and all together.

        Raises
        ------
        SnapshotError
            Where a size is not a quantity.
        SelectorError
            Where a claim's selector is wrong.
        """
        claims = pod_claims(self._cluster, pod)
        nodes = claims_on_nodes(self._cluster, self._binder, claims)
        selected = nodes_matching_pod(self._cluster.nodes, pod.spec)
        return PodOverview(
            pod,
            claims_problem(self._cluster, pod),
            tuple(self.claim(claim) for claim in claims),
            self._tied_zones(self._open_nodes(claims)),
            self._tied_zones(selected),
            bool(claims) and not any(nodes[row].usable for row in np.flatnonzero(selected)),
            nodes,
        )

    def _open_nodes(self, claims: Sequence[PersistentVolumeClaim]) -> Mask:
        """The nodes that all volumes the claims have can be used from: bool, shape (n_nodes,)."""
        mask = np.ones(len(self._cluster.nodes), dtype=np.bool_)
        for claim in claims:
            volume = self._cluster.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
            if volume is not None:
                mask &= self._usable_from(claim, volume)
        return mask

    def _usable_from(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Mask:
        return self._binder.check_volume(claim, volume).reachable & in_zone(self._cluster.nodes, volume)

    def _tied_zones(self, open_: Mask) -> tuple[str, ...]:
        nodes = self._cluster.nodes
        zones = zones_of(nodes, open_)
        return () if zones == zones_of(nodes, np.ones_like(open_)) else zones

    def _trap(self, outcome: ClaimOutcome, storage_class: StorageClass | None) -> Trap | None:
        if storage_class is None or storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return None
        nodes = self._cluster.nodes
        every = zones_of(nodes, np.ones(len(nodes), dtype=np.bool_))
        if len(every) < 2:
            return None
        if outcome.action in (Action.KEEP, Action.BIND):
            volume = self._cluster.get(PersistentVolume, outcome.volume)
            zones = zones_of(nodes, self._usable_from(outcome.claim, volume)) if volume is not None else every
            others = tuple(zone for zone in every if zone not in zones)
            return Trap(storage_class.name, zones, others) if others else None
        if outcome.action is Action.PROVISION and self._is_zonal(outcome.provisioner):
            return Trap(storage_class.name, (), every)
        return None

    def _is_zonal(self, driver: str) -> bool:
        """Whether a CSI driver says of any node that its volumes cannot be used from everywhere."""
        return any(
            entry.name == driver and entry.topology_keys
            for csi_node in self._cluster.list(CSINode)
            for entry in csi_node.spec.drivers
        )

    def _pods_using(self, claim: PersistentVolumeClaim) -> list[str]:
        if self._users is None:
            self._users = {}
            pods = self._cluster.pods
            for index, record in enumerate(pods.records):
                if record.spec.volumes:
                    for use in claim_uses(pods.pod(index)):
                        self._users.setdefault((record.metadata.namespace, use.claim), []).append(pods.key(index))
        return self._users.get((claim.namespace, claim.name), [])
