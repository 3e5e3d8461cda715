"""The overview of a claim's or a pod's volumes: state, the controller's next action, the binder's result by node."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.objects.well_known import BETA_ZONE, ZONE, zone_of
from kschedctl.questions.volumes.answer import ClaimVerdict, NodeVolumesData, OnNodeData, TrapData
from kschedctl.scheduler.volumes.binder import Binder, BoundCheck, FoundVolumes, ProvisionCheck
from kschedctl.scheduler.volumes.claims import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_key,
    claim_uses,
    claims_problem,
    group_claims,
    is_undecidable,
    storage_class_of,
    volume_of,
)
from kschedctl.scheduler.volumes.reasons import allowed_terms, explain_bound, explain_space, show_terms
from kschedctl.scheduler.volumes.zones import volume_labels, zoned_nodes
from kschedctl.trials.claim_action import ClaimAction
from kschedctl.trials.persistent_volumes import ClaimOutcome, sync_claim

# The nodes from which a volume can be used, and their zones.


def in_zone(nodes: Nodes, volume: PersistentVolume) -> Mask:
    """Return the nodes from which a volume can be used by its zone and region labels: bool, shape (n_nodes,)."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    for label in volume_labels(volume):
        mask &= label.matches(nodes)
    return mask | ~zoned_nodes(nodes)


def usable_from(binder: Binder, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Mask:
    """Return the nodes from which a claim's volume can be used by node affinity and labels: bool, shape (n_nodes,)."""
    return binder.check_volume(claim, volume).reachable & in_zone(binder.cluster.nodes, volume)


def zones_of(nodes: Nodes, mask: Mask) -> tuple[str, ...]:
    """Return the zones of some nodes, sorted; nodes without a zone are left out.

    Args:
        mask: True for the nodes to include.
    """
    newer, older = nodes.labels[ZONE], nodes.labels[BETA_ZONE]
    zones = {newer.values[code] for code in np.unique(newer.codes[mask & newer.present])}
    zones |= {older.values[code] for code in np.unique(older.codes[mask & older.present & ~newer.present])}
    return tuple(sorted(zones))


# The outcome for the claims of a pod on every node that the pod may be scheduled to.


def claims_on_nodes(binder: Binder, claims: Sequence[PersistentVolumeClaim]) -> tuple[NodeVolumesData, ...]:
    """Return the outcome for the claims of one pod on each node.

    Args:
        claims: The claims, in the order of the pod's volumes.

    Raises SnapshotError if a size is not a quantity.
    Raises SelectorError if a claim's selector is invalid.
    """
    cluster = binder.cluster
    found = binder.find_pod_volumes(group_claims(cluster, claims))
    volumes = (check.volume for check in found.bound)
    zones = {volume.name: in_zone(cluster.nodes, volume) for volume in volumes if volume is not None}
    looker = _Looker(binder, found, zones)
    return tuple(
        NodeVolumesData(
            node.name, zone_of(node.metadata.labels), all(each.verdict.usable for each in outcomes), outcomes
        )
        for row, node in enumerate(cluster.nodes.objects)
        for outcomes in (tuple(looker.look(claim, node, row) for claim in claims),)
    )


@dataclass(frozen=True, slots=True)
class _Looker:
    """A reader of the binder's result for single claims and nodes."""

    binder: Binder
    found: FoundVolumes
    in_zone: dict[str, Mask]

    def look(self, claim: PersistentVolumeClaim, node: Node, row: int) -> OnNodeData:
        """Return the outcome for a claim on a node."""
        key = claim_key(claim)
        for check in self.found.bound:
            if check.claim is claim:
                return self._bound(check, node, row)
        if any(selected is claim for selected in self.found.selected):
            selected_node = claim.metadata.annotations[SELECTED_NODE]
            if selected_node != node.name:
                return OnNodeData(key, ClaimVerdict.ELSEWHERE, "", f"being provisioned for node {selected_node}")
        for match in self.found.matches:
            if match.claim is claim and match.choice[row] >= 0:
                return OnNodeData(key, ClaimVerdict.TAKES, match.candidates[match.choice[row]].name, "")
        for provision in self.found.provisions:
            if provision.claim is claim:
                return self._provisioned(provision, row)
        return OnNodeData(key, ClaimVerdict.IMMEDIATE, "", "the PersistentVolume controller must bind it first")

    def _bound(self, check: BoundCheck, node: Node, row: int) -> OnNodeData:
        key = claim_key(check.claim)
        if check.volume is not None and check.reachable[row]:
            verdict = ClaimVerdict.BOUND if self.in_zone[check.volume.name][row] else ClaimVerdict.OTHER_ZONE
            return OnNodeData(key, verdict, check.volume.name, "")
        verdict = ClaimVerdict.MISSING if check.volume is None else ClaimVerdict.UNREACHABLE
        detail = explain_bound(self.binder, check, node, row).words()
        return OnNodeData(key, verdict, check.claim.spec.volume_name, detail)

    def _provisioned(self, check: ProvisionCheck, row: int) -> OnNodeData:
        key = claim_key(check.claim)
        wanted = check.provisioning
        name = wanted.storage_class.name
        if wanted.unsupported:
            detail = f"no volume matches it here, and class {name} does not provision"
            return OnNodeData(key, ClaimVerdict.NONE, "", detail)
        if not wanted.allowed[row]:
            topologies = show_terms(allowed_terms(wanted.storage_class.allowed_topologies))
            return OnNodeData(key, ClaimVerdict.NONE, "", f"class {name} provisions only for {topologies}")
        if not wanted.enough[row]:
            detail = explain_space(self.binder.cluster, self.binder, check, row).words()
            return OnNodeData(key, ClaimVerdict.NO_SPACE, "", detail)
        return OnNodeData(key, ClaimVerdict.PROVISIONED, "", "")


# Claims that are bound before their pods are scheduled, and so tie the pods to a zone.


def find_trap(binder: Binder, outcome: ClaimOutcome, storage_class: StorageClass | None) -> TrapData | None:
    """Return the early binding of a claim that ties its pods to zones, or ``None`` if there is none.

    Args:
        binder: The binder over the claim's cluster.
        outcome: The action that the PersistentVolume controller would take.
        storage_class: The claim's class, if it has one that exists.
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
        return _trap(storage_class.name, outcome.claim.name, zones, others) if others else None
    if outcome.action is ClaimAction.PROVISION and any(
        entry.name == outcome.provisioner and entry.topology_keys
        for csi_node in binder.cluster.list(CSINode)
        for entry in csi_node.spec.drivers
    ):
        return _trap(storage_class.name, outcome.claim.name, (), every)
    return None


def _trap(name: str, claim: str, zones: tuple[str, ...], other_zones: tuple[str, ...]) -> TrapData:
    """Return the early binding of a claim by a class."""
    if zones:
        text = (
            f"Claim {claim} got its volume in zone {listed(zones)} before any pod was placed, because class {name} "
            f"binds immediately. Its pods can no longer be scheduled to zone {listed(other_zones, 'or')}, whatever "
            "else they need."
        )
    else:
        text = (
            f"Claim {claim} gets its volume before any pod is placed, because class {name} binds immediately: the "
            f"provisioner picks one of the zones {listed(other_zones)} without checking where its pods fit."
        )
    advice = "A class with volumeBindingMode: WaitForFirstConsumer provisions volumes where the pod is scheduled."
    return TrapData(name, zones, other_zones, text, advice)


@dataclass(frozen=True, slots=True)
class ClaimOverview:
    """The overview of one claim."""

    claim: PersistentVolumeClaim
    #: The action that the PersistentVolume controller would take for the claim.
    outcome: ClaimOutcome
    #: The claim's volume, if it has one that exists.
    volume: PersistentVolume | None
    #: The claim's class, if it has one that exists; the default class if the controller would assign it.
    storage_class: StorageClass | None
    #: The zones that the claim ties its pods to; empty if it leaves all zones open, or no node.
    zones: tuple[str, ...]
    #: True if the claim has a volume that can be used from no node.
    stranded: bool
    #: ``namespace/name`` of the pods that use the claim.
    pods: tuple[str, ...]
    #: The early binding that ties pods to zones before they are scheduled; ``None`` if there is none.
    trap: TrapData | None


@dataclass(frozen=True, slots=True)
class PodOverview:
    """The overview of the claims of a pod."""

    pod: Pod
    #: The reason why the claims can be used on no node, in the scheduler's words; empty if there is none.
    problem: str
    #: The pod's claims that exist, in the order of its volumes.
    claims: tuple[ClaimOverview, ...]
    #: The zones that claims with a volume tie the pod to; empty if all zones are open, or none is left.
    zones: tuple[str, ...]
    #: The zones that node selector and node affinity tie the pod to; empty if all zones are open, or none is left.
    selected_zones: tuple[str, ...]
    #: True if the pod's node selection and its claims together leave no node.
    conflict: bool
    #: The outcome for all claims on each node, in the order of the snapshot; empty if it is not known.
    nodes: tuple[NodeVolumesData, ...]
    #: False if a claim of the pod, or its volume, is of a kind that could not be listed.
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

        Raises SnapshotError if a size is not a quantity.
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

    def on_nodes(self, claim: PersistentVolumeClaim) -> tuple[NodeVolumesData, ...]:
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
