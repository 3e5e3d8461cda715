"""The volumes of a claim or a pod at a glance: state, what the controller would do, and what the binder would, by node.

Data only; nothing here words or prints more than a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.api.storage import StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.arrays import Mask
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.persistentvolume.controller import sync_claim
from kschedctl.persistentvolume.outcome import ClaimOutcome
from kschedctl.volumes.binder import Binder
from kschedctl.volumes.claims import storage_class_of, volume_of
from kschedctl.volumes.pod_claims import claim_uses, claims_problem, pod_claims
from kschedctl.volumeview.on_nodes import NodeOverview, claims_on_nodes
from kschedctl.volumeview.trap import Trap, find_trap
from kschedctl.volumeview.zones import usable_from, zones_of


@dataclass(frozen=True, slots=True)
class ClaimOverview:
    """One claim.

    Attributes
    ----------
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


@dataclass(frozen=True, eq=False)
class VolumeOverview:
    """Overviews of the claims and pods of one cluster."""

    cluster: Cluster

    @cached_property
    def _binder(self) -> Binder:
        return Binder(self.cluster)

    def claim(self, claim: PersistentVolumeClaim) -> ClaimOverview:
        """One claim by itself.

        Raises
        ------
        SnapshotError
            Where a size is not a quantity.
        """
        outcome = sync_claim(self.cluster, claim)
        storage_class = storage_class_of(self.cluster, outcome.claim)
        open_ = self._open_nodes((claim,))
        return ClaimOverview(
            claim,
            outcome,
            volume_of(self.cluster, claim),
            storage_class,
            self._tied_zones(open_),
            not open_.any(),
            tuple(self._users.get((claim.namespace, claim.name), ())),
            find_trap(self._binder, outcome, storage_class),
        )

    def on_nodes(self, claim: PersistentVolumeClaim) -> tuple[NodeOverview, ...]:
        """What would become of a claim on each node, for a pod that uses no other; raises as ``claims_on_nodes``."""
        return claims_on_nodes(self._binder, (claim,))

    def claims(self) -> tuple[ClaimOverview, ...]:
        """All claims of the cluster, in the order of the snapshot."""
        return tuple(self.claim(claim) for claim in self.cluster.list(PersistentVolumeClaim))

    def pod(self, pod: Pod) -> PodOverview:
        """The claims of a pod, each by itself and all together; raises as ``claims_on_nodes``."""
        claims = pod_claims(self.cluster, pod)
        nodes = claims_on_nodes(self._binder, claims)
        selected = nodes_matching_pod(self.cluster.nodes, pod.spec)
        return PodOverview(
            pod,
            claims_problem(self.cluster, pod),
            tuple(self.claim(claim) for claim in claims),
            self._tied_zones(self._open_nodes(claims)),
            self._tied_zones(selected),
            bool(claims) and not any(nodes[row].usable for row in np.flatnonzero(selected)),
            nodes,
        )

    def _open_nodes(self, claims: Sequence[PersistentVolumeClaim]) -> Mask:
        """The nodes that all volumes the claims have can be used from: bool, shape (n_nodes,)."""
        mask = np.ones(len(self.cluster.nodes), dtype=np.bool_)
        for claim in claims:
            volume = volume_of(self.cluster, claim)
            if volume is not None:
                mask &= usable_from(self._binder, claim, volume)
        return mask

    def _tied_zones(self, open_: Mask) -> tuple[str, ...]:
        nodes = self.cluster.nodes
        zones = zones_of(nodes, open_)
        return () if zones == zones_of(nodes, np.ones_like(open_)) else zones

    @cached_property
    def _users(self) -> dict[tuple[str, str], list[str]]:
        """``namespace/name`` of the pods that use a claim, by the claim's namespace and name."""
        users: dict[tuple[str, str], list[str]] = {}
        pods = self.cluster.pods
        for index, record in enumerate(pods.records):
            if record.spec.volumes:
                for use in claim_uses(pods.pod(index)):
                    users.setdefault((record.metadata.namespace, use.claim), []).append(pods.key(index))
        return users
