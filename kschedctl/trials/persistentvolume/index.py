"""The choice of the volume that the controller binds a claim to, and the reasons against all others.

Source: pkg/controller/volume/persistentvolume ``findBestMatchForClaim``.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.selectors import Selector
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.scheduler.volumes.claims import is_bound_to, storage_capacity
from kschedctl.scheduler.volumes.matching import access_modes_mismatch, mismatches, serves_access_modes
from kschedctl.trials.persistentvolume.outcome import Rejected

_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


def find_best_match(
    cluster: Cluster, claim: PersistentVolumeClaim, selector: Selector | None, *, delayed: bool
) -> PersistentVolume | None:
    """Return the volume that the controller binds a claim to, or ``None``.

    Volumes with fewer access modes take precedence. Among these, a volume that names the claim comes first, then the
    smallest. If the class waits for the first consumer, only a volume that names the claim is bound.
    """

    def modes(volume: PersistentVolume) -> tuple[int, list[int]]:
        indices = sorted({_MODES.index(mode) for mode in volume.spec.access_modes if mode in _MODES})
        return len(indices), indices

    serving = [v for v in cluster.list(PersistentVolume) if serves_access_modes(claim, v)]
    for _, group in groupby(sorted(serving, key=modes), key=modes):
        fitting = [volume for volume in group if next(mismatches(claim, volume, selector), None) is None]
        named = next((volume for volume in fitting if is_bound_to(volume, claim)), None)
        if named is not None:
            return named
        if fitting and not delayed:
            return min(fitting, key=storage_capacity)
    return None


def rejected_volumes(
    cluster: Cluster, claim: PersistentVolumeClaim, selector: Selector | None, chosen: str
) -> tuple[Rejected, ...]:
    """Return the other volumes with the reasons against them, in snapshot order."""
    out = []
    for volume in cluster.list(PersistentVolume):
        if volume.name != chosen:
            found = tuple(mismatches(claim, volume, selector))
            if is_bound_to(volume, claim) and not serves_access_modes(claim, volume):
                found = (*found, access_modes_mismatch(claim, volume))
            out.append(Rejected(volume.name, found))
    return tuple(out)
