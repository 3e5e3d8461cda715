"""The overview of a claim's or a pod's volumes: state, the controller's next action, and the binder's result by node.

This is data only; no text is made here but reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.common.arrays import Mask
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.questions.volumeview.claim_outcomes import NodeOverview, claims_on_nodes
from kschedctl.questions.volumeview.early_binding import Trap, find_trap
from kschedctl.questions.volumeview.zones import usable_from, zones_of
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import claim_uses, claims_problem, is_undecidable, storage_class_of, volume_of
from kschedctl.trials.persistent_volumes import ClaimOutcome, sync_claim


@dataclass(frozen=True, slots=True)
class ClaimOverview:
    """The overview of one claim.

    Attributes
    ----------
    outcome : ClaimOutcome
        The action that the PersistentVolume controller would take for the claim.
    volume : PersistentVolume or None
        The claim's volume, if it has one that exists.
    storage_class : StorageClass or None
        The claim's class, if it has one that exists; the default class if the controller would assign it.
    zones : tuple of str
        The zones that the claim ties its pods to; empty if it leaves all zones open, or no node.
    stranded : bool
        True if the claim has a volume that can be used from no node.
    pods : tuple of str
        ``namespace/name`` of the pods that use the claim.
    trap : Trap or None
        The early binding that ties pods to zones before they are scheduled; ``None`` if there is none.
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
    """The overview of the claims of a pod.

    Attributes
    ----------
    problem : str
        The reason why the claims can be used on no node, in the scheduler's words; empty if there is none.
    claims : tuple of ClaimOverview
        The pod's claims that exist, in the order of its volumes.
    zones : tuple of str
        The zones that claims with a volume tie the pod to; empty if all zones are open, or none is left.
    selected_zones : tuple of str
        The zones that node selector and node affinity tie the pod to; empty if all zones are open, or none is left.
    conflict : bool
        True if the pod's node selection and its claims together leave no node.
    nodes : tuple of NodeOverview
        The outcome for all claims on each node, in the order of the snapshot; empty if it is not known.
    is_known : bool
        False if a claim of the pod, or its volume, is of a kind that could not be listed.
    """

    pod: Pod
    problem: str
    claims: tuple[ClaimOverview, ...]
    zones: tuple[str, ...]
    selected_zones: tuple[str, ...]
    conflict: bool
    nodes: tuple[NodeOverview, ...]
    is_known: bool


@dataclass(frozen=True, eq=False)
class VolumeOverview:
    """Overviews of the claims and pods of one cluster."""

    cluster: Cluster

    @cached_property
    def _binder(self) -> Binder:
        return Binder(self.cluster)

    def claim(self, claim: PersistentVolumeClaim) -> ClaimOverview:
        """Return the overview of one claim.

        Raises
        ------
        SnapshotError
            If a size is not a quantity.
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
            not open_.any() and not self.cluster.is_forbidden(Node),
            tuple(self._users.get((claim.namespace, claim.name), ())),
            find_trap(self._binder, outcome, storage_class),
        )

    def on_nodes(self, claim: PersistentVolumeClaim) -> tuple[NodeOverview, ...]:
        """Return the outcome for a claim on each node, for a pod that uses no other; raises as ``claims_on_nodes``."""
        return claims_on_nodes(self._binder, (claim,))

    def claims(self) -> tuple[ClaimOverview, ...]:
        """Return the overviews of all claims of the cluster, in the order of the snapshot."""
        return tuple(self.claim(claim) for claim in self.cluster.list(PersistentVolumeClaim))

    def pod(self, pod: Pod) -> PodOverview:
        """Return the overview of a pod's claims, each by itself and all together; raises as ``claims_on_nodes``."""
        uses = list(claim_uses(pod))
        found = [self.cluster.get(PersistentVolumeClaim, use.claim, pod.namespace) for use in uses]
        claims = [claim for claim in found if claim is not None]
        hidden = self.cluster.is_forbidden(PersistentVolumeClaim, pod.namespace) and None in found
        is_known = not hidden and not any(is_undecidable(self.cluster, claim) for claim in claims)
        nodes = claims_on_nodes(self._binder, claims) if is_known else ()
        selected = nodes_matching_pod(self.cluster.nodes, pod.spec)
        return PodOverview(
            pod,
            claims_problem(self.cluster, pod),
            tuple(self.claim(claim) for claim in claims),
            self._tied_zones(self._open_nodes(claims)),
            self._tied_zones(selected),
            is_known and bool(claims) and not any(nodes[row].usable for row in np.flatnonzero(selected)),
            nodes,
            is_known,
        )

    def _open_nodes(self, claims: Sequence[PersistentVolumeClaim]) -> Mask:
        """Return the nodes from which all existing volumes of the claims can be used: bool, shape (n_nodes,)."""
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
        """The names of the pods that use a claim, by the claim's namespace and name."""
        users: dict[tuple[str, str], list[str]] = {}
        pods = self.cluster.pods
        for index, record in enumerate(pods.records):
            if record.spec.volumes:
                for use in claim_uses(pods.pod(index)):
                    users.setdefault((record.metadata.namespace, use.claim), []).append(pods.key(index))
        return users
