"""Which PersistentVolumes a claim can be bound to, node affinity apart.

The scheduler and the PersistentVolume controller ask the same (component-helpers ``FindMatchingVolume``): a volume
that names the claim is taken at once, of the others the smallest that satisfies it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kschedctl.api.amounts import format_amount
from kschedctl.api.quantity import value
from kschedctl.api.resources import MEMORY
from kschedctl.api.selectors import Selector, SelectorError, matches, parse_label_selector
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.volumes.claims import (
    claim_class,
    claim_key,
    is_bound_to,
    requested_storage,
    storage_capacity,
    volume_class,
)

AVAILABLE = "Available"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One reason why a volume is not for a claim.

    Attributes
    ----------
    field : str
        What differs: ``claimRef``, ``capacity``, ``volumeMode``, ``volumeAttributesClassName``,
        ``deletionTimestamp``, ``phase``, ``selector``, ``storageClassName`` or ``accessModes``.
    wanted : str
        What the claim wants.
    found : str
        What the volume has.
    """

    field: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.field}: wants {self.wanted}, has {self.found}"


def claim_selector(claim: PersistentVolumeClaim) -> Selector | None:
    """The claim's selector, parsed; ``None`` where it has none.

    Raises
    ------
    SelectorError
        Where the selector is wrong.
    """
    if claim.spec.selector is None:
        return None
    try:
        return parse_label_selector(claim.spec.selector)
    except SelectorError as error:
        raise SelectorError(f"the selector of claim {claim_key(claim)} is wrong: {error}", error.path) from None


def mismatches(claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None) -> Iterator[Mismatch]:
    """Why a volume cannot be bound to a claim, in upstream's order; nothing where it can.

    Of a volume that names the claim, phase, labels, class and access modes are not asked.

    Parameters
    ----------
    claim : PersistentVolumeClaim
        A claim that is not bound.
    volume : PersistentVolume
        Any volume.
    selector : Selector or None
        The claim's selector, as ``claim_selector`` gives it.

    Raises
    ------
    SnapshotError
        Where a size is not a quantity.
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
        yield from _mismatches_of_unreserved(claim, volume, selector)


def _mismatches_of_unreserved(
    claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None
) -> Iterator[Mismatch]:
    """Yield what is compared only where the volume does not name the claim."""
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
    """Whether the volume can be mounted in every way that the claim asks for."""
    return set(claim.spec.access_modes) <= set(volume.spec.access_modes)


def access_modes_mismatch(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Mismatch:
    """The access modes of both side by side."""
    return Mismatch("accessModes", ", ".join(claim.spec.access_modes), ", ".join(volume.spec.access_modes) or "none")


def show_storage(nanos: int) -> str:
    """A size in nano-bytes as people read it.

    Examples
    --------
    >>> show_storage(5 * 2**30 * 10**9)
    '5Gi'
    """
    return format_amount(MEMORY, value(nanos))
