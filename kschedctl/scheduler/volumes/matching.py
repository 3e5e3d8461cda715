"""The PersistentVolumes that a claim can be bound to, and the nodes on which one can be provisioned for it."""

from collections.abc import Iterator

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.quantity import value
from kschedctl.objects.resources import MEMORY, format_amount
from kschedctl.objects.selectors import Selector, SelectorError, matches, parse_label_selector
from kschedctl.objects.volume import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kschedctl.scheduler.volumes.claims import (
    claim_class,
    claim_key,
    is_bound_to,
    is_static,
    quantity_in,
    requested_storage,
    storage_capacity,
    volume_class,
)
from kschedctl.scheduler.volumes.zones import VolumeTopology

AVAILABLE = "Available"


class Mismatch(msgspec.Struct, frozen=True):
    """A reason why a volume cannot be bound to a claim."""

    #: The differing field: ``claimRef``, ``capacity``, ``volumeMode``, ``volumeAttributesClassName``,
    #: ``deletionTimestamp``, ``phase``, ``selector``, ``storageClassName`` or ``accessModes``.
    field: str
    #: The value that the claim wants.
    wanted: str
    #: The value that the volume has.
    found: str

    def __str__(self) -> str:
        return f"{self.field}: wants {self.wanted}, has {self.found}"


def claim_selector(claim: PersistentVolumeClaim) -> Selector | None:
    """Return the claim's parsed selector; ``None`` if it has none.

    Raises SelectorError if the selector is invalid.
    """
    if claim.spec.selector is None:
        return None
    try:
        return parse_label_selector(claim.spec.selector)
    except SelectorError as error:
        raise SelectorError(f"the selector of claim {claim_key(claim)} is wrong: {error}", error.path) from None


def mismatches(claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None) -> Iterator[Mismatch]:
    """Yield the reasons why a volume cannot be bound to a claim, in upstream's order; nothing if it can be.

    Phase, labels, class and access modes of a volume that names the claim are not compared.

    Raises SnapshotError if a size is not a quantity.
    """
    wanted, has = claim.spec, volume.spec
    reserved = is_bound_to(volume, claim)
    if has.claim_ref is not None and not reserved:
        yield Mismatch("claimRef", claim_key(claim), f"{has.claim_ref.namespace}/{has.claim_ref.name}")
    size, capacity = requested_storage(claim) or 0, storage_capacity(volume)
    if capacity < size:
        yield Mismatch("capacity", show_storage(size), show_storage(capacity))
    if has.volume_mode != wanted.volume_mode:
        yield Mismatch("volumeMode", wanted.volume_mode, has.volume_mode)
    if (has.volume_attributes_class_name or "") != (wanted.volume_attributes_class_name or ""):
        yield Mismatch(
            "volumeAttributesClassName",
            wanted.volume_attributes_class_name or "none",
            has.volume_attributes_class_name or "none",
        )
    if volume.metadata.deletion_timestamp is not None:
        yield Mismatch("deletionTimestamp", "none", "one: the volume is being deleted")
    if not reserved:
        if volume.status.phase != AVAILABLE:
            yield Mismatch("phase", AVAILABLE, volume.status.phase)
        if selector is not None and not matches(selector, volume.metadata.labels):
            labels = ", ".join(f"{r.key}={volume.metadata.labels.get(r.key, '')}" for r in selector)
            yield Mismatch("selector", ", ".join(map(str, selector)), labels)
        if volume_class(volume) != claim_class(claim):
            yield Mismatch("storageClassName", claim_class(claim) or "none", volume_class(volume) or "none")
        if not serves_access_modes(claim, volume):
            yield access_modes_mismatch(claim, volume)


def serves_access_modes(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Report whether the volume supports all access modes that the claim requests."""
    return set(claim.spec.access_modes) <= set(volume.spec.access_modes)


def access_modes_mismatch(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Mismatch:
    """Return the mismatch between the access modes of claim and volume."""
    return Mismatch("accessModes", ", ".join(claim.spec.access_modes), ", ".join(volume.spec.access_modes) or "none")


def show_storage(nanos: int) -> str:
    """Return a size in nano-bytes as human-readable text.

    >>> show_storage(5 * 2**30 * 10**9)
    '5Gi'
    """
    return format_amount(MEMORY, value(nanos))


# The nodes on which a volume can be provisioned for a claim, by provisioner, topology and free capacity.


class Provisioning(msgspec.Struct, frozen=True):
    """The checks of dynamic provisioning for one claim on all nodes."""

    #: The StorageClass of the claim.
    storage_class: StorageClass
    #: True if the class has no provisioner.
    unsupported: bool
    #: The nodes that the class's ``allowedTopologies`` match.
    allowed: Mask
    #: The nodes with enough capacity; all nodes if the driver does not track capacity.
    enough: Mask
    #: The nodes on which the driver tracks capacity and has enough of it.
    measured: Mask
    #: The free capacity of the storage that lets the claim pass, in bytes; 0 if it is not reported.
    available: Int64Array
    #: True for nodes where only the maximum volume size of that storage is reported.
    capacity_unsaid: Mask
    #: True for nodes where further storage with another free capacity would let the claim pass. The first one in
    #: the snapshot counts; kube-scheduler uses an arbitrary one.
    several: Mask


def provisioning(
    cluster: Cluster,
    topology: VolumeTopology,
    claim: PersistentVolumeClaim,
    storage_class: StorageClass,
    *,
    exact: bool,
) -> Provisioning:
    """Evaluate the scheduler's ``checkVolumeProvisions`` for all nodes.

    Args:
        exact: True if sizes are compared exactly; False if they are compared in bytes, as 64-bit numbers.

    Raises SnapshotError if a size or a capacity is not a quantity.
    """
    n_nodes = len(cluster.nodes)
    measured, several, unsaid = (np.zeros(n_nodes, dtype=np.bool_) for _ in range(3))
    available = np.zeros(n_nodes, dtype=np.int64)
    size = requested_storage(claim)
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    counted = size is not None and driver is not None and driver.spec.storage_capacity
    counted = counted and not cluster.is_forbidden(CSIStorageCapacity)
    for capacity in capacities(cluster, claim_class(claim)) if counted else ():
        limit, free = volume_limit(capacity), free_storage(capacity, exact=exact)
        if limit is None or (limit < (size or 0) if exact else value(limit) < value(size or 0)):
            continue
        selected = topology.selected(capacity.node_topology)
        several |= selected & measured & ((available != (free or 0)) | (unsaid != (free is None)))
        first = selected & ~measured
        available[first] = free or 0
        unsaid[first] = free is None
        measured |= selected
    return Provisioning(
        storage_class,
        is_static(storage_class),
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
    """Return the size of the largest volume that can be provisioned, in nano-bytes; ``None`` if it is not reported.

    Raises SnapshotError if the reported value is not a quantity.
    """
    # The maximum volume size is more precise than the total free capacity.
    if capacity.maximum_volume_size is not None:
        return quantity_in(capacity, "maximumVolumeSize", capacity.maximum_volume_size)
    return None if capacity.capacity is None else quantity_in(capacity, "capacity", capacity.capacity)


def free_storage(capacity: CSIStorageCapacity, *, exact: bool) -> int | None:
    """Return the total free capacity, in bytes as an int64; ``None`` if it is not reported.

    Raises SnapshotError if the reported value is not a quantity.
    """
    if capacity.capacity is None:
        return None
    return value(quantity_in(capacity, "capacity", capacity.capacity), saturate=exact)
