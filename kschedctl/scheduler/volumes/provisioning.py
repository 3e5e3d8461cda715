"""The nodes on which a volume can be provisioned for a claim, by provisioner, topology and free capacity."""

from __future__ import annotations

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.common.errors import SnapshotError
from kschedctl.objects.core import QuantityText
from kschedctl.objects.quantity import QuantityError, parse_quantity, value
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from kschedctl.scheduler.volumes.claims import NO_PROVISIONER, claim_class, requested_storage
from kschedctl.scheduler.volumes.topology import VolumeTopology


class Provisioning(msgspec.Struct, frozen=True):
    """The checks of dynamic provisioning for one claim on all nodes.

    Attributes
    ----------
    storage_class : StorageClass
        The StorageClass of the claim.
    unsupported : bool
        True if the class has no provisioner.
    allowed : ndarray of bool, shape (n_nodes,)
        The nodes that the class's ``allowedTopologies`` match.
    enough : ndarray of bool, shape (n_nodes,)
        The nodes with enough capacity; all nodes if the driver does not track capacity.
    measured : ndarray of bool, shape (n_nodes,)
        The nodes on which the driver tracks capacity and has enough of it.
    available : ndarray of int64, shape (n_nodes,)
        The free capacity of the storage that lets the claim pass, in bytes; 0 if it is not reported.
    capacity_unsaid : ndarray of bool, shape (n_nodes,)
        True for nodes where only the maximum volume size of that storage is reported.
    several : ndarray of bool, shape (n_nodes,)
        True for nodes where further storage with another free capacity would let the claim pass. The first one in the
        snapshot counts; kube-scheduler uses an arbitrary one.
    """

    storage_class: StorageClass
    unsupported: bool
    allowed: Mask
    enough: Mask
    measured: Mask
    available: Int64Array
    capacity_unsaid: Mask
    several: Mask


def provisioning(
    cluster: Cluster, topology: VolumeTopology, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> Provisioning:
    """Evaluate the scheduler's ``checkVolumeProvisions`` for all nodes.

    Raises
    ------
    SnapshotError
        If a size or a capacity is not a quantity.
    """
    n_nodes = len(cluster.nodes)
    measured, several, unsaid = (np.zeros(n_nodes, dtype=np.bool_) for _ in range(3))
    available = np.zeros(n_nodes, dtype=np.int64)
    size = requested_storage(claim)
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    counted = size is not None and driver is not None and driver.spec.storage_capacity
    counted = counted and not cluster.is_forbidden(CSIStorageCapacity)
    for capacity in capacities(cluster, claim_class(claim)) if counted else ():
        limit, free = volume_limit(capacity), free_storage(capacity)
        if limit is None or limit < value(size or 0):
            continue
        selected = topology.selected(capacity.node_topology)
        several |= selected & measured & ((available != (free or 0)) | (unsaid != (free is None)))
        first = selected & ~measured
        available[first] = free or 0
        unsaid[first] = free is None
        measured |= selected
    return Provisioning(
        storage_class,
        storage_class.provisioner in ("", NO_PROVISIONER),
        topology.allowed(storage_class.allowed_topologies),
        measured if counted else np.ones(n_nodes, dtype=np.bool_),
        measured,
        available,
        unsaid,
        several,
    )


def capacities(cluster: Cluster, class_name: str) -> list[CSIStorageCapacity]:
    """Return the free capacity that drivers report for a class."""
    return [capacity for capacity in cluster.list(CSIStorageCapacity) if capacity.storage_class_name == class_name]


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """Return the size of the largest volume that can be provisioned, in bytes; ``None`` if it is not reported.

    Raises
    ------
    SnapshotError
        If the reported value is not a quantity.
    """
    # The maximum volume size is more precise than the total free capacity.
    if capacity.maximum_volume_size is None:
        return free_storage(capacity)
    return _bytes_in(capacity, "maximumVolumeSize", capacity.maximum_volume_size)


def free_storage(capacity: CSIStorageCapacity) -> int | None:
    """Return the total free capacity, in bytes; ``None`` if it is not reported.

    Raises
    ------
    SnapshotError
        If the reported value is not a quantity.
    """
    return _bytes_in(capacity, "capacity", capacity.capacity) if capacity.capacity is not None else None


def _bytes_in(capacity: CSIStorageCapacity, field: str, text: QuantityText) -> int:
    try:
        return value(parse_quantity(text))
    except QuantityError as error:
        raise SnapshotError(str(error), where=capacity.ref, path=field) from None
