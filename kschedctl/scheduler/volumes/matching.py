"""The PersistentVolumes that a claim can be bound to, regardless of node affinity.

The scheduler and the PersistentVolume controller share these rules (component-helpers ``FindMatchingVolume``). A volume
that names the claim comes first; otherwise the smallest volume that satisfies the claim is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kschedctl.objects.quantity import value
from kschedctl.objects.resources import MEMORY, format_amount
from kschedctl.objects.selectors import Selector, SelectorError, matches, parse_label_selector
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.scheduler.volumes.claims import (
    claim_class,
    claim_key,
    is_bound_to,
    requested_storage,
    storage_capacity,
    volume_class,
)

AVAILABLE = "Available"


class Mismatch(msgspec.Struct, frozen=True):
    """A reason why a volume cannot be bound to a claim.

    Attributes
    ----------
    field : str
        The differing field: ``claimRef``, ``capacity``, ``volumeMode``, ``volumeAttributesClassName``,
        ``deletionTimestamp``, ``phase``, ``selector``, ``storageClassName`` or ``accessModes``.
    wanted : str
        The value that the claim wants.
    found : str
        The value that the volume has.
    """

    field: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.field}: wants {self.wanted}, has {self.found}"


def claim_selector(claim: PersistentVolumeClaim) -> Selector | None:
    """Return the claim's parsed selector; ``None`` if it has none.

    Raises
    ------
    SelectorError
        If the selector is invalid.
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

    Parameters
    ----------
    claim : PersistentVolumeClaim
        A claim that is not bound.
    volume : PersistentVolume
        Any volume.
    selector : Selector or None
        The claim's selector, from ``claim_selector``.

    Raises
    ------
    SnapshotError
        If a size is not a quantity.
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
    """Yield the differences that only matter if the volume does not name the claim."""
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

    Examples
    --------
    >>> show_storage(5 * 2**30 * 10**9)
    '5Gi'
    """
    return format_amount(MEMORY, value(nanos))
