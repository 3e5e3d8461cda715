"""The zones and regions of volumes, from the labels that VolumeZone compares with a node's."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.objects.selectors import IN, Requirement
from kschedctl.objects.volume import PersistentVolume
from kschedctl.objects.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedctl.scheduler.volumes.migration import ZONE_DELIMITER

LABEL_KEYS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_SUCCESSOR: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class VolumeLabel(msgspec.Struct, frozen=True):
    """A zone or region label of a volume.

    Attributes
    ----------
    volume : str
        The name of the volume.
    key : str
        The key of the label.
    values : tuple of str
        The zones or regions that the volume is in.
    """

    volume: str
    key: str
    values: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The text ``zone`` or ``region``."""
        return "region" if self.key in (REGION, BETA_REGION) else "zone"

    def matches(self, nodes: Nodes) -> Mask:
        """Return the nodes that have one of the values: bool, shape (n_nodes,).

        A node without a beta label is matched by the label's successor.
        """
        column = nodes.labels[self.key]
        mask = column.holds(Requirement(self.key, IN, self.values))
        successor = _SUCCESSOR.get(self.key)
        if successor is None:
            return mask
        newer = nodes.labels[successor].holds(Requirement(successor, IN, self.values))
        return np.where(column.present, mask, newer)

    def value_on(self, nodes: Nodes, row: int) -> str | None:
        """Return the node's value of the label or of its successor; ``None`` if it has neither."""
        labels = nodes.objects[row].metadata.labels
        return labels.get(self.key, labels.get(_SUCCESSOR.get(self.key, self.key)))


def zones_in_label(value: str) -> tuple[str, ...]:
    """Return the zones in a volume's label, separated by ``__``; none if one of them is empty.

    Examples
    --------
    >>> zones_in_label("a__b"), zones_in_label("a__")
    (('a', 'b'), ())
    """
    zones = tuple(zone.strip() for zone in value.split(ZONE_DELIMITER))
    return zones if all(zones) else ()


def volume_labels(volume: PersistentVolume) -> tuple[VolumeLabel, ...]:
    """Return the zone and region labels of a volume; invalid labels are ignored."""
    labels = volume.metadata.labels
    found = ((key, zones_in_label(labels[key])) for key in LABEL_KEYS if key in labels)
    return tuple(VolumeLabel(volume.name, key, values) for key, values in found if values)


def zoned_nodes(nodes: Nodes) -> Mask:
    """Return the nodes with any zone or region label: bool, shape (n_nodes,).

    The other nodes are in no zone and accept any volume.
    """
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for key in LABEL_KEYS:
        mask |= nodes.labels[key].present
    return mask
