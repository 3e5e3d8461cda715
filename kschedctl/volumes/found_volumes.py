"""What the binder finds for a pod's claims, on every node."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.arrays import Int64Array, Mask
from kschedctl.volumes.provisioning import Provisioning


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """A bound claim against the nodes.

    Attributes
    ----------
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
    needed : ndarray of bool, shape (n_nodes,)
        Where it got no volume.
    provisioning : Provisioning
        Where one can be provisioned.
    """

    claim: PersistentVolumeClaim
    needed: Mask
    provisioning: Provisioning


@dataclass(frozen=True, slots=True)
class FoundVolumes:
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
