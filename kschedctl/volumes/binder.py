"""The scheduler's binder: for every node at once, which volumes a pod's claims would get there.

Bound claims: their volume must be reachable. Unbound claims of classes that wait: smallest claim first, each takes the
smallest volume that suits it and is reachable; what finds none is provisioned, where the class can do that. No volume
is taken twice. Source: plugins/volumebinding ``FindPodVolumes``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.storage import StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.cluster import Cluster
from kschedctl.volumes.claims import (
    SELECTED_NODE,
    PodClaims,
    claim_class,
    is_bound_to,
    requested_storage,
    storage_capacity,
    volume_class,
)
from kschedctl.volumes.matching import claim_selector, mismatches
from kschedctl.volumes.migration import MigrationError
from kschedctl.volumes.provisioning import Provisioning, provisioning
from kschedctl.volumes.topology import VolumeTopology

_NONE = -1


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """A bound claim against the nodes.

    Attributes
    ----------
    claim : PersistentVolumeClaim
        The claim.
    volume : PersistentVolume or None
        Its volume; ``None`` where that does not exist.
    reachable : ndarray of bool, shape (n_nodes,)
        From where the volume can be reached; nowhere where it does not exist.
    problem : str
        Why the volume cannot be taken for a CSI volume on nodes where its plugin is migrated; empty where it can.
    """

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None
    reachable: Mask
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StaticMatch:
    """Which volume an unbound claim would get on each node.

    Attributes
    ----------
    claim : PersistentVolumeClaim
        The claim.
    candidates : tuple of PersistentVolume
        The volumes that suit the claim, in the order in which they are taken.
    choice : ndarray of int64, shape (n_nodes,)
        Index into ``candidates``; -1 where none can be had.
    """

    claim: PersistentVolumeClaim
    candidates: tuple[PersistentVolume, ...]
    choice: Int64Array


@dataclass(frozen=True, slots=True)
class ProvisionCheck:
    """A claim that a volume has to be provisioned for, on some nodes.

    Attributes
    ----------
    claim : PersistentVolumeClaim
        The claim.
    needed : ndarray of bool, shape (n_nodes,)
        Where it got no volume.
    provisioning : Provisioning
        Where one can be provisioned.
    """

    claim: PersistentVolumeClaim
    needed: Mask
    provisioning: Provisioning


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What the binder finds for a pod, per node.

    Attributes
    ----------
    bound : tuple of BoundCheck
        The bound claims, in the order in which they are looked at.
    selected : tuple of PersistentVolumeClaim
        The unbound claims that are being provisioned for a node already.
    selected_elsewhere : ndarray of bool, shape (n_nodes,)
        Where that node is another one.
    matches : tuple of StaticMatch
        The unbound claims that may take an existing volume, smallest first.
    provisions : tuple of ProvisionCheck
        The claims to provision for, in the order in which they are looked at.
    node_conflict, bind_conflict, not_enough_space, missing_volume : ndarray of bool, shape (n_nodes,)
        The scheduler's four reasons; several can hold at once.
    errors : tuple of str
        What the scheduler gives up over.
    error : ndarray of int64, shape (n_nodes,)
        Index into ``errors``; -1 where there is none.
    """

    bound: tuple[BoundCheck, ...]
    selected: tuple[PersistentVolumeClaim, ...]
    selected_elsewhere: Mask
    matches: tuple[StaticMatch, ...]
    provisions: tuple[ProvisionCheck, ...]
    node_conflict: Mask
    bind_conflict: Mask
    not_enough_space: Mask
    missing_volume: Mask
    errors: tuple[str, ...]
    error: Int64Array


class Binder:
    """Finds volumes for pods on the nodes of a cluster.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.topology = VolumeTopology(cluster)
        self._by_class: dict[str, list[PersistentVolume]] | None = None

    def find_pod_volumes(self, claims: PodClaims) -> PodVolumes:
        """Look for volumes on every node.

        Parameters
        ----------
        claims : PodClaims
            A pod's claims; those that are bound immediately play no part.

        Raises
        ------
        SelectorError
            Where a claim's selector is wrong.
        SnapshotError
            Where a size is not a quantity.
        """
        errors: list[str] = []
        bound, node_conflict, missing, error = self._check_bound(claims.bound, errors)
        selected = tuple(claim for claim in claims.delayed if SELECTED_NODE in claim.metadata.annotations)
        elsewhere = self._selected_elsewhere(selected)
        open_ = tuple(claim for claim in claims.delayed if SELECTED_NODE not in claim.metadata.annotations)
        matches = self._match(open_)
        wanting = [(claim, ~elsewhere) for claim in selected]
        wanting += [(match.claim, ~elsewhere & (match.choice == _NONE)) for match in matches]
        provisions = self._provisions(wanting)
        bind_conflict, no_space = _check_provisions(provisions, elsewhere)
        return PodVolumes(
            bound,
            selected,
            elsewhere,
            matches,
            provisions,
            node_conflict,
            bind_conflict,
            no_space,
            missing,
            tuple(errors),
            error,
        )

    def _check_bound(
        self, claims: tuple[PersistentVolumeClaim, ...], errors: list[str]
    ) -> tuple[tuple[BoundCheck, ...], Mask, Mask, Int64Array]:
        """Check bound claims in order; each node stops at the first that fails there."""
        n_nodes = len(self._cluster.nodes)
        alive = np.ones(n_nodes, dtype=np.bool_)
        conflict = np.zeros(n_nodes, dtype=np.bool_)
        missing = np.zeros(n_nodes, dtype=np.bool_)
        error = np.full(n_nodes, _NONE, dtype=np.int64)
        checks = []
        for claim in claims:
            volume = self._cluster.get(PersistentVolume, claim.spec.volume_name)
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
        """From where a claim's volume can be reached."""
        try:
            return BoundCheck(claim, volume, self.topology.reachable_as_bound(volume))
        except MigrationError as error:
            reachable = self.topology.reachable(volume) & ~self.topology.needs_translation(volume)
            return BoundCheck(claim, volume, reachable, f"could not translate pv: {error}")

    def _selected_elsewhere(self, claims: tuple[PersistentVolumeClaim, ...]) -> Mask:
        mask = np.zeros(len(self._cluster.nodes), dtype=np.bool_)
        for claim in claims:
            row = self._cluster.nodes.row.get(claim.metadata.annotations[SELECTED_NODE])
            mask |= self._cluster.nodes.rows != (_NONE if row is None else row)
        return mask

    def _match(self, claims: tuple[PersistentVolumeClaim, ...]) -> tuple[StaticMatch, ...]:
        taken: dict[str, Mask] = {}
        matches = []
        for claim in sorted(claims, key=lambda claim: requested_storage(claim) or 0):
            candidates, reserved = self._candidates(claim)
            choice = np.full(len(self._cluster.nodes), _NONE, dtype=np.int64)
            open_ = np.ones(len(self._cluster.nodes), dtype=np.bool_)
            for i, volume in enumerate(candidates):
                reachable = self.topology.reachable(volume)
                free = open_ & ~taken[volume.name] if volume.name in taken else open_
                chosen = free & reachable
                choice[chosen] = i
                # A volume that names the claim is the only one for it, also where it cannot be reached.
                open_ = open_ & ~(free if i < reserved else chosen)
                if not open_.any():
                    break
            for i in np.unique(choice[choice != _NONE]):
                name = candidates[i].name
                taken[name] = taken[name] | (choice == i) if name in taken else choice == i
            matches.append(StaticMatch(claim, candidates, choice))
        return tuple(matches)

    def _candidates(self, claim: PersistentVolumeClaim) -> tuple[tuple[PersistentVolume, ...], int]:
        """The volumes that suit a claim, those that name it first, then by size; and how many name it."""
        selector = claim_selector(claim)
        fitting = [v for v in self._volumes(claim_class(claim)) if next(mismatches(claim, v, selector), None) is None]
        reserved = [volume for volume in fitting if is_bound_to(volume, claim)]
        others = [volume for volume in fitting if not is_bound_to(volume, claim)]
        return (*reserved, *sorted(others, key=storage_capacity)), len(reserved)

    def _volumes(self, class_name: str) -> list[PersistentVolume]:
        if self._by_class is None:
            self._by_class = {}
            for volume in self._cluster.list(PersistentVolume):
                self._by_class.setdefault(volume_class(volume), []).append(volume)
        return self._by_class.get(class_name, [])

    def _provisions(self, wanting: list[tuple[PersistentVolumeClaim, Mask]]) -> tuple[ProvisionCheck, ...]:
        checks = []
        for claim, needed in wanting:
            storage_class = self._cluster.get(StorageClass, claim_class(claim))
            if storage_class is not None and needed.any():
                found = provisioning(self._cluster, self.topology, claim, storage_class)
                checks.append(ProvisionCheck(claim, needed, found))
        return tuple(checks)


def _check_provisions(checks: tuple[ProvisionCheck, ...], elsewhere: Mask) -> tuple[Mask, Mask]:
    """Where provisioning is not possible, and where there is too little space; a node stops at its first problem."""
    conflict = elsewhere.copy()
    no_space = np.zeros(len(elsewhere), dtype=np.bool_)
    for check in checks:
        alive = check.needed & ~conflict & ~no_space
        found = check.provisioning
        impossible = alive if found.unsupported else alive & ~found.allowed
        conflict |= impossible
        no_space |= alive & ~impossible & ~found.enough
    return conflict, no_space
