"""The nodes from which volumes can be reached, as masks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Mask
from kschedctl.objects.meta import LabelSelector, LabelSelectorRequirement
from kschedctl.objects.selectors import IN, NodeSelector, Selector, SelectorError, parse_label_selector, parse_node_term
from kschedctl.objects.volume import CSINode, PersistentVolume, TopologySelectorTerm
from kschedctl.scheduler.volumes.claims import required_affinity
from kschedctl.scheduler.volumes.csi_nodes import CSINodes
from kschedctl.scheduler.volumes.migration import in_tree_plugin, migrated_affinity


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
    def of(cls, cluster: Cluster) -> VolumeTopology:
        """Return the volume topology of a cluster; the object is cached."""
        return cluster.derived(cls, None, lambda: cls(cluster), of=(CSINode,))

    def reachable(self, volume: PersistentVolume) -> Mask:
        """Return the nodes that a volume's node affinity matches: bool, shape (n_nodes,), read-only.

        Source: component-helpers ``CheckNodeAffinity``.
        """
        return self._matching(required_affinity(volume))

    def reachable_as_bound(self, volume: PersistentVolume) -> Mask:
        """Return ``reachable``, with the affinity translated on nodes where the volume's plugin is migrated to CSI.

        Raises
        ------
        MigrationError
            If a node needs a translation that does not exist.
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
