"""On which nodes a volume can be provisioned for a claim: the class's provisioner, topology and free capacity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.core import QuantityText
from kschedctl.api.quantity import QuantityError, parse_quantity, value
from kschedctl.api.storage import CSIDriver, CSIStorageCapacity, StorageClass
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import SnapshotError
from kschedctl.volumes.claims import NO_PROVISIONER, claim_class, requested_storage
from kschedctl.volumes.topology import VolumeTopology


@dataclass(frozen=True, slots=True)
class Provisioning:
    """What stands in the way of provisioning for one claim.

    Attributes
    ----------
    storage_class : StorageClass
        The claim's class.
    unsupported : bool
        Whether the class does not provision at all.
    allowed : ndarray of bool, shape (n_nodes,)
        The nodes that the class's ``allowedTopologies`` match.
    enough : ndarray of bool, shape (n_nodes,)
        The nodes with enough capacity, or where nobody keeps count of it.
    measured : ndarray of bool, shape (n_nodes,)
        The nodes with enough capacity where the driver keeps count of it.
    available : ndarray of int64, shape (n_nodes,)
        What is free there of the storage that lets the claim pass, in bytes; 0 where that is not told.
    capacity_unsaid : ndarray of bool, shape (n_nodes,)
        Where only the largest volume is told of that storage.
    several : ndarray of bool, shape (n_nodes,)
        Where there is other storage that would let the claim pass, with another capacity. The first of the snapshot
        counts; which one kube-scheduler comes upon is chance.
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
    """Look at what the scheduler's ``checkVolumeProvisions`` looks at, for all nodes.

    Raises
    ------
    SnapshotError
        Where a size or a capacity is not a quantity.
    """
    n_nodes = len(cluster.nodes)
    measured, several, unsaid = (np.zeros(n_nodes, dtype=np.bool_) for _ in range(3))
    available = np.zeros(n_nodes, dtype=np.int64)
    size = requested_storage(claim)
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    counted = size is not None and driver is not None and driver.spec.storage_capacity
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
    """What drivers report of the capacity left for a class."""
    return [capacity for capacity in cluster.list(CSIStorageCapacity) if capacity.storage_class_name == class_name]


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume that can be made, in bytes; ``None`` where the driver does not say.

    Raises
    ------
    SnapshotError
        Where that is not a quantity.
    """
    # The largest volume is more precise than the sum of what is free.
    if capacity.maximum_volume_size is None:
        return free_storage(capacity)
    return _bytes_in(capacity, "maximumVolumeSize", capacity.maximum_volume_size)


def free_storage(capacity: CSIStorageCapacity) -> int | None:
    """The sum of what is free, in bytes; ``None`` where the driver does not say.

    Raises
    ------
    SnapshotError
        Where that is not a quantity.
    """
    return _bytes_in(capacity, "capacity", capacity.capacity) if capacity.capacity is not None else None


def _bytes_in(capacity: CSIStorageCapacity, field: str, text: QuantityText) -> int:
    try:
        return value(parse_quantity(text))
    except QuantityError as error:
        raise SnapshotError(str(error), where=capacity.ref, path=field) from None
