"""The scheduler's volume binder: the volumes that a pod's claims would get, for all nodes at once.

The volume of a bound claim must be reachable from the node. Unbound claims with WaitForFirstConsumer are matched in
order of size, the smallest first: each takes the smallest reachable volume that satisfies it. For a claim without a
match, a volume is provisioned if the class allows it. A volume is taken at most once. Source: plugins/volumebinding
``FindPodVolumes``.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.selectors import IN, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.objects.volume import (
    CSINode,
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TypedObjectReference,
    VolumeNodeAffinity,
)
from kschedctl.scheduler.framework.events import ObjectChange
from kschedctl.scheduler.volumes.claims import (
    BIND_COMPLETED,
    SELECTED_NODE,
    PodClaims,
    claim_class,
    claim_key,
    is_bound_to,
    requested_storage,
    storage_capacity,
    storage_class_of,
    volume_class,
)
from kschedctl.scheduler.volumes.csi_nodes import MigrationError
from kschedctl.scheduler.volumes.matching import Provisioning, claim_selector, mismatches, provisioning
from kschedctl.scheduler.volumes.zones import VolumeTopology


class BoundCheck(msgspec.Struct, frozen=True):
    """The check of a bound claim against the nodes."""

    claim: PersistentVolumeClaim
    #: The volume of the claim; ``None`` if it does not exist.
    volume: PersistentVolume | None
    #: The nodes from which the volume can be reached; none if it does not exist.
    reachable: Mask
    #: The error of the translation to a CSI volume on nodes where the plugin is migrated; empty if there is none.
    problem: str = ""


class StaticMatch(msgspec.Struct, frozen=True):
    """The volume that an unbound claim would get on each node."""

    claim: PersistentVolumeClaim
    #: The volumes that match the claim, in order of preference.
    candidates: tuple[PersistentVolume, ...]
    #: The index into ``candidates`` for each node; -1 if no candidate is available.
    choice: Int64Array


class ProvisionCheck(msgspec.Struct, frozen=True):
    """The check of a claim for which a volume must be provisioned on some nodes."""

    claim: PersistentVolumeClaim
    #: The nodes on which the claim got no existing volume.
    needed: Mask
    #: The checks of dynamic provisioning.
    provisioning: Provisioning


class FoundVolumes(msgspec.Struct, frozen=True):
    """The binder's results for a pod, per node."""

    #: The checks of bound claims, in evaluation order.
    bound: tuple[BoundCheck, ...]
    #: The unbound claims that are being provisioned for a selected node.
    selected: tuple[PersistentVolumeClaim, ...]
    #: True for nodes that are not the selected node of one of these claims.
    selected_elsewhere: Mask
    #: The results for unbound claims that may get an existing volume, the smallest claim first.
    matches: tuple[StaticMatch, ...]
    #: The checks of claims for which volumes must be provisioned, in evaluation order.
    provisions: tuple[ProvisionCheck, ...]
    #: The nodes that the scheduler rejects for each of its four reasons; several can hold for a node.
    node_conflict: Mask
    bind_conflict: Mask
    not_enough_space: Mask
    missing_volume: Mask
    #: The errors with which the scheduler ends its cycle.
    errors: tuple[str, ...]
    #: The index into ``errors`` for each node; -1 if there is no error.
    error: Int64Array
    #: As ``Binder.exact_sizes``.
    exact_sizes: bool


_NONE = -1


class Binder(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Finds volumes for pods on the nodes of a cluster."""

    #: The cluster with its nodes, volumes and claims.
    cluster: Cluster
    #: True if claims may name a VolumeAttributesClass (the gate of that name); otherwise the search of a volume
    #: for such a claim is an error.
    knows_attributes_classes: bool = True
    #: True if the sizes of claims and the free capacity of drivers are compared exactly (``Release``).
    exact_sizes: bool = False

    @cached_property
    def topology(self) -> VolumeTopology:
        """The masks of nodes from which volumes can be reached."""
        return VolumeTopology.of(self.cluster)

    def find_pod_volumes(self, claims: PodClaims) -> FoundVolumes:
        """Find volumes for a pod's claims on every node.

        Raises SelectorError if a claim's selector is invalid.
        Raises SnapshotError if a size is not a quantity.
        """
        errors: list[str] = []
        bound, node_conflict, missing, error = self._check_bound(claims.bound, errors)
        selected = tuple(claim for claim in claims.delayed if SELECTED_NODE in claim.metadata.annotations)
        rows = self.cluster.nodes.rows
        elsewhere = np.zeros(len(rows), dtype=np.bool_)
        for claim in selected:
            elsewhere |= rows != self.cluster.nodes.row.get(claim.metadata.annotations[SELECTED_NODE], _NONE)
        open_ = tuple(claim for claim in claims.delayed if SELECTED_NODE not in claim.metadata.annotations)
        named = [claim for claim in open_ if claim.spec.volume_attributes_class_name]
        if named and not self.knows_attributes_classes:
            first = min(named, key=lambda claim: requested_storage(claim) or 0)
            errors.append(
                f"unsupported volumeAttributesClassName is set on claim {claim_key(first)} when the feature-gate "
                "VolumeAttributesClass is disabled"
            )
            error = np.where(~elsewhere & (error == _NONE), len(errors) - 1, error)
        matches = self._match(open_)
        wanting = [(claim, ~elsewhere) for claim in selected]
        wanting += [(match.claim, ~elsewhere & (match.choice == _NONE)) for match in matches]
        provisions = []
        for claim, needed in wanting:
            storage_class = storage_class_of(self.cluster, claim)
            if storage_class is not None and needed.any():
                checks = provisioning(self.cluster, self.topology, claim, storage_class, exact=self.exact_sizes)
                provisions.append(ProvisionCheck(claim, needed, checks))
        bind_conflict = elsewhere.copy()
        no_space = np.zeros(len(elsewhere), dtype=np.bool_)
        for check in provisions:
            alive = check.needed & ~bind_conflict & ~no_space
            found = check.provisioning
            impossible = alive if found.unsupported else alive & ~found.allowed
            bind_conflict |= impossible
            no_space |= alive & ~impossible & ~found.enough
        return FoundVolumes(
            bound,
            selected,
            elsewhere,
            matches,
            tuple(provisions),
            node_conflict,
            bind_conflict,
            no_space,
            missing,
            tuple(errors),
            error,
            self.exact_sizes,
        )

    def _check_bound(
        self, claims: tuple[PersistentVolumeClaim, ...], errors: list[str]
    ) -> tuple[tuple[BoundCheck, ...], Mask, Mask, Int64Array]:
        """Check bound claims in order; each node stops at the first claim that fails there."""
        n_nodes = len(self.cluster.nodes)
        alive = np.ones(n_nodes, dtype=np.bool_)
        conflict = np.zeros(n_nodes, dtype=np.bool_)
        missing = np.zeros(n_nodes, dtype=np.bool_)
        error = np.full(n_nodes, _NONE, dtype=np.int64)
        checks = []
        for claim in claims:
            volume = self.cluster.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                missing |= alive
                alive = np.zeros(n_nodes, dtype=np.bool_)
                checks.append(BoundCheck(claim, None, alive))
                continue
            check = self.check_volume(claim, volume)
            checks.append(check)
            if check.problem:
                broken = alive & self.topology.needs_translation(volume)
                error[broken] = len(errors)
                errors.append(check.problem)
                alive = alive & ~broken
            conflict |= alive & ~check.reachable
            alive = alive & check.reachable
        return tuple(checks), conflict, missing, error

    def check_volume(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> BoundCheck:
        """Return the check of a claim's volume against all nodes."""
        try:
            return BoundCheck(claim, volume, self.topology.reachable_as_bound(volume))
        except MigrationError as error:
            reachable = self.topology.reachable(volume) & ~self.topology.needs_translation(volume)
            return BoundCheck(claim, volume, reachable, f"could not translate pv: {error}")

    def _match(self, claims: tuple[PersistentVolumeClaim, ...]) -> tuple[StaticMatch, ...]:
        taken: dict[str, Mask] = {}
        matches = []
        for claim in sorted(claims, key=lambda claim: requested_storage(claim) or 0):
            candidates, reserved = self._matching_volumes(claim)
            choice = np.full(len(self.cluster.nodes), _NONE, dtype=np.int64)
            open_ = np.ones(len(self.cluster.nodes), dtype=np.bool_)
            for i, volume in enumerate(candidates):
                reachable = self.topology.reachable(volume)
                free = open_ & ~taken[volume.name] if volume.name in taken else open_
                chosen = free & reachable
                choice[chosen] = i
                # A volume that names the claim is the only one for it, even on nodes from which it cannot be reached.
                open_ = open_ & ~(free if i < reserved else chosen)
                if not open_.any():
                    break
            for i in np.unique(choice[choice != _NONE]):
                name = candidates[i].name
                taken[name] = taken[name] | (choice == i) if name in taken else choice == i
            matches.append(StaticMatch(claim, candidates, choice))
        return tuple(matches)

    def _matching_volumes(self, claim: PersistentVolumeClaim) -> tuple[tuple[PersistentVolume, ...], int]:
        """Return a claim's matching volumes, those that name it first, then by size; and the number that name it."""
        selector = claim_selector(claim)
        fitting = [
            v for v in self._by_class.get(claim_class(claim), ()) if next(mismatches(claim, v, selector), None) is None
        ]
        reserved = [volume for volume in fitting if is_bound_to(volume, claim)]
        others = [volume for volume in fitting if not is_bound_to(volume, claim)]
        return (*reserved, *sorted(others, key=storage_capacity)), len(reserved)

    @cached_property
    def _by_class(self) -> dict[str, list[PersistentVolume]]:
        """The volumes of the cluster by the name of their class."""
        volumes: dict[str, list[PersistentVolume]] = {}
        for volume in self.cluster.list(PersistentVolume):
            volumes.setdefault(volume_class(volume), []).append(volume)
        return volumes


# The volumes and claims of a pod after it is bound: claims get the volumes found for them, or provisioned ones.
#
# Source: the binder's ``BindPodVolumes``, and the subsequent actions of the PersistentVolume controller and
# provisioners.

_BOUND: Final = "Bound"
_YES: Final = "yes"


def bind_pod_volumes(cluster: Cluster, found: FoundVolumes, row: int) -> Iterator[ObjectChange]:
    """Yield the volumes and claims that change when a pod with claims is bound to a node.

    Args:
        found: The binder's results for the pod.
    """
    node = cluster.nodes.objects[row]
    for match in found.matches:
        if match.choice[row] >= 0:
            volume = match.candidates[int(match.choice[row])]
            yield ObjectChange(_taken_volume(volume, match.claim), volume)
            yield ObjectChange(_bound_claim(match.claim, volume.name), match.claim)
    for check in found.provisions:
        if check.needed[row]:
            volume = _provisioned_volume(cluster, check.claim, check.provisioning.storage_class, node)
            yield ObjectChange(volume)
            selected = {**check.claim.metadata.annotations, SELECTED_NODE: node.name}
            claim = replace(check.claim, metadata=replace(check.claim.metadata, annotations=selected))
            yield ObjectChange(_bound_claim(claim, volume.name), check.claim)


def _taken_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    reference = TypedObjectReference(
        kind="PersistentVolumeClaim", namespace=claim.namespace, name=claim.name, uid=claim.metadata.uid
    )
    return replace(volume, spec=replace(volume.spec, claim_ref=reference), status=PersistentVolumeStatus(phase=_BOUND))


def _bound_claim(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations={**claim.metadata.annotations, BIND_COMPLETED: _YES}),
        spec=replace(claim.spec, volume_name=volume),
        status=replace(claim.status, phase=_BOUND),
    )


def _provisioned_volume(
    cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node
) -> PersistentVolume:
    """Return the volume that a provisioner creates for a claim whose pod is scheduled to a node."""
    name = f"pvc-{claim.metadata.uid or f'{claim.namespace}-{claim.name}'}"
    volume = PersistentVolume(
        metadata=ObjectMeta(name=name),
        spec=PersistentVolumeSpec(
            capacity=claim.spec.resources.requests,
            access_modes=claim.spec.access_modes,
            storage_class_name=storage_class.name,
            volume_mode=claim.spec.volume_mode,
            node_affinity=_topology(cluster, storage_class, node),
            csi=CSIVolumeSource(driver=storage_class.provisioner, volume_handle=name),
        ),
    )
    return _taken_volume(volume, claim)


def _topology(cluster: Cluster, storage_class: StorageClass, node: Node) -> VolumeNodeAffinity | None:
    """Return the topology of a volume: the node's domain, by the topology keys of its driver or of the class."""
    csi_node = cluster.get(CSINode, node.name)
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    keys = [key for driver in drivers if driver.name == storage_class.provisioner for key in driver.topology_keys]
    if not keys:
        terms = storage_class.allowed_topologies
        keys = [requirement.key for term in terms for requirement in term.match_label_expressions]
    labels = node.metadata.labels
    requirements = tuple(
        NodeSelectorRequirement(key=key, operator=IN, values=(labels[key],))
        for key in dict.fromkeys(keys)
        if key in labels
    )
    if not requirements:
        return None
    term = NodeSelectorTerm(match_expressions=requirements)
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
