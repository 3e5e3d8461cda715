"""The binder's results for a pod's claims on every node."""

from __future__ import annotations

import msgspec

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.scheduler.volumes.provisioning import Provisioning


class BoundCheck(msgspec.Struct, frozen=True):
    """The check of a bound claim against the nodes.

    Attributes
    ----------
    volume : PersistentVolume or None
        The volume of the claim; ``None`` if it does not exist.
    reachable : ndarray of bool, shape (n_nodes,)
        The nodes from which the volume can be reached; none if it does not exist.
    problem : str
        The error of the translation to a CSI volume on nodes where the plugin is migrated; empty if there is none.
    """

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None
    reachable: Mask
    problem: str = ""


class StaticMatch(msgspec.Struct, frozen=True):
    """The volume that an unbound claim would get on each node.

    Attributes
    ----------
    candidates : tuple of PersistentVolume
        The volumes that match the claim, in order of preference.
    choice : ndarray of int64, shape (n_nodes,)
        The index into ``candidates`` for each node; -1 if no candidate is available.
    """

    claim: PersistentVolumeClaim
    candidates: tuple[PersistentVolume, ...]
    choice: Int64Array


class ProvisionCheck(msgspec.Struct, frozen=True):
    """The check of a claim for which a volume must be provisioned on some nodes.

    Attributes
    ----------
    needed : ndarray of bool, shape (n_nodes,)
        The nodes on which the claim got no existing volume.
    provisioning : Provisioning
        The checks of dynamic provisioning.
    """

    claim: PersistentVolumeClaim
    needed: Mask
    provisioning: Provisioning


class FoundVolumes(msgspec.Struct, frozen=True):
    """The binder's results for a pod, per node.

    Attributes
    ----------
    bound : tuple of BoundCheck
        The checks of bound claims, in evaluation order.
    selected : tuple of PersistentVolumeClaim
        The unbound claims that are being provisioned for a selected node.
    selected_elsewhere : ndarray of bool, shape (n_nodes,)
        True for nodes that are not the selected node of one of these claims.
    matches : tuple of StaticMatch
        The results for unbound claims that may get an existing volume, the smallest claim first.
    provisions : tuple of ProvisionCheck
        The checks of claims for which volumes must be provisioned, in evaluation order.
    node_conflict, bind_conflict, not_enough_space, missing_volume : ndarray of bool, shape (n_nodes,)
        The nodes that the scheduler rejects for each of its four reasons; several can hold for a node.
    errors : tuple of str
        The errors with which the scheduler ends its cycle.
    error : ndarray of int64, shape (n_nodes,)
        The index into ``errors`` for each node; -1 if there is no error.
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
