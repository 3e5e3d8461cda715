"""The nodes from which volumes can be reached, and the zones that VolumeZone compares."""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.objects.meta import LabelSelector, LabelSelectorRequirement
from kschedctl.objects.selectors import (
    IN,
    NodeSelector,
    Requirement,
    Selector,
    SelectorError,
    parse_label_selector,
    parse_node_term,
)
from kschedctl.objects.volume import CSINode, PersistentVolume, TopologySelectorTerm
from kschedctl.objects.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedctl.scheduler.volumes.claims import required_affinity
from kschedctl.scheduler.volumes.csi_nodes import ZONE_DELIMITER, CSINodes, in_tree_plugin, migrated_affinity

LABEL_KEYS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_SUCCESSOR: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class VolumeLabel(msgspec.Struct, frozen=True):
    """A zone or region label of a volume."""

    volume: str
    #: The key of the label.
    key: str
    #: The zones or regions that the volume is in.
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


# The nodes from which volumes can be reached, as masks.


def label_terms(affinity: NodeSelector) -> Iterable[Selector]:
    """Yield the requirements on a node's labels for each term of a volume's node affinity.

    Empty and invalid terms match no node and are skipped. Fields such as ``metadata.name`` are ignored: upstream
    compares a volume with a node's labels alone.
    """
    for term in affinity.node_selector_terms:
        try:
            parsed = parse_node_term(term)
        except SelectorError:
            continue
        if parsed is not None:
            yield parsed.labels


class VolumeTopology:
    """Masks over the nodes of a cluster, each computed once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._by_affinity: dict[NodeSelector | None, Mask] = {}
        self._csi_nodes = CSINodes.of(cluster)

    @classmethod
    def of(cls, cluster: Cluster) -> "VolumeTopology":
        """Return the volume topology of a cluster; the object is cached."""
        return cluster.derived(cls, None, lambda: cls(cluster), of=(CSINode,))

    def reachable(self, volume: PersistentVolume) -> Mask:
        """Return the nodes that a volume's node affinity matches: bool, shape (n_nodes,), read-only.

        Source: component-helpers ``CheckNodeAffinity``.
        """
        return self._matching(required_affinity(volume))

    def reachable_as_bound(self, volume: PersistentVolume) -> Mask:
        """Return ``reachable``, with the affinity translated on nodes where the volume's plugin is migrated to CSI.

        Raises MigrationError if a node needs a translation that does not exist.
        """
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.translated or not self._csi_nodes.migrated(plugin).any():
            return self.reachable(volume)
        translated = self._matching(migrated_affinity(volume, plugin))
        return np.where(self._csi_nodes.migrated(plugin), translated, self.reachable(volume))

    def needs_translation(self, volume: PersistentVolume) -> Mask:
        """Return the nodes that treat a volume as a CSI volume: bool, shape (n_nodes,), read-only."""
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.translated:
            return np.zeros(len(self._cluster.nodes), dtype=np.bool_)
        return self._csi_nodes.migrated(plugin)

    def allowed(self, terms: tuple[TopologySelectorTerm, ...]) -> Mask:
        """Return the nodes that a StorageClass's ``allowedTopologies`` match: bool, shape (n_nodes,).

        Without topologies, all nodes match.
        """
        nodes = self._cluster.nodes
        if not terms:
            return np.ones(len(nodes), dtype=np.bool_)
        mask = np.zeros(len(nodes), dtype=np.bool_)
        for term in terms:
            expressions = tuple(LabelSelectorRequirement(e.key, IN, e.values) for e in term.match_label_expressions)
            if expressions:
                mask |= self.selected(LabelSelector(match_expressions=expressions))
        return mask

    def selected(self, selector: LabelSelector | None) -> Mask:
        """Return the nodes that a label selector matches: bool, shape (n_nodes,).

        A missing or invalid selector matches no node.
        """
        nodes = self._cluster.nodes
        if selector is not None:
            try:
                return nodes.labels.matches(parse_label_selector(selector))
            except SelectorError:
                pass
        return np.zeros(len(nodes), dtype=np.bool_)

    def _matching(self, affinity: NodeSelector | None) -> Mask:
        mask = self._by_affinity.get(affinity)
        if mask is None:
            nodes = self._cluster.nodes
            mask = np.full(len(nodes), affinity is None)
            for selector in label_terms(affinity) if affinity is not None else ():
                mask |= nodes.labels.matches(selector)
            self._by_affinity[affinity] = mask
        return mask
