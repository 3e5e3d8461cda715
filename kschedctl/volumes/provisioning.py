"""On which nodes a volume can be provisioned for a claim: the class's provisioner, topology and free capacity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.quantity import QuantityError, parse_quantity, value
from kschedctl.api.storage import CSIDriver, CSIStorageCapacity, StorageClass
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.arrays import Mask
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
    """

    storage_class: StorageClass
    unsupported: bool
    allowed: Mask
    enough: Mask


def provisioning(
    cluster: Cluster, topology: VolumeTopology, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> Provisioning:
    """Look at what the scheduler's ``checkVolumeProvisions`` looks at, for all nodes.

    Raises
    ------
    SnapshotError
        Where a size or a capacity is not a quantity.
    """
    return Provisioning(
        storage_class,
        storage_class.provisioner in ("", NO_PROVISIONER),
        topology.allowed(storage_class.allowed_topologies),
        _enough_capacity(cluster, topology, claim, storage_class),
    )


def _enough_capacity(
    cluster: Cluster, topology: VolumeTopology, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> Mask:
    size = requested_storage(claim)
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    if size is None or driver is None or not driver.spec.storage_capacity:
        return np.ones(len(cluster.nodes), dtype=np.bool_)
    mask = np.zeros(len(cluster.nodes), dtype=np.bool_)
    for capacity in capacities(cluster, claim_class(claim)):
        limit = volume_limit(capacity)
        if limit is not None and limit >= value(size):
            mask |= topology.selected(capacity.node_topology)
    return mask


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
    field = "capacity" if capacity.maximum_volume_size is None else "maximumVolumeSize"
    text = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    if text is None:
        return None
    try:
        return value(parse_quantity(text))
    except QuantityError as error:
        raise SnapshotError(str(error), where=capacity.ref, path=field) from None
