"""The nodes from which a volume can be used, and their zones."""

from __future__ import annotations

import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.well_known import BETA_ZONE, ZONE
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.zones import volume_labels, zoned_nodes


def in_zone(nodes: Nodes, volume: PersistentVolume) -> Mask:
    """Return the nodes from which a volume can be used by its zone and region labels: bool, shape (n_nodes,)."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    for label in volume_labels(volume):
        mask &= label.matches(nodes)
    return mask | ~zoned_nodes(nodes)


def usable_from(binder: Binder, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Mask:
    """Return the nodes from which a claim's volume can be used by node affinity and labels: bool, shape (n_nodes,)."""
    return binder.check_volume(claim, volume).reachable & in_zone(binder.cluster.nodes, volume)


def zones_of(nodes: Nodes, mask: Mask) -> tuple[str, ...]:
    """Return the zones of some nodes, sorted; nodes without a zone are left out.

    Parameters
    ----------
    mask : ndarray of bool, shape (n_nodes,)
        True for the nodes to include.
    """
    newer, older = nodes.labels[ZONE], nodes.labels[BETA_ZONE]
    zones = {newer.values[code] for code in np.unique(newer.codes[mask & newer.present])}
    zones |= {older.values[code] for code in np.unique(older.codes[mask & older.present & ~newer.present])}
    return tuple(sorted(zones))
