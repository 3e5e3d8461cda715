"""CSINodes as columns over nodes: installed drivers, volume limits, and in-tree plugins migrated to CSI."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.volume import CSINode
from kschedctl.scheduler.volumes.migration import InTreePlugin, migrated_plugins


class CSINodes:
    """The CSINodes of a cluster as columns over its nodes.

    Attributes
    ----------
    present : ndarray of bool, shape (n_nodes,)
        True for nodes with a CSINode.
    any_limit : ndarray of bool, shape (n_nodes,)
        True for nodes with a volume limit for any driver.
    """

    def __init__(self, cluster: Cluster) -> None:
        n_nodes = len(cluster.nodes)
        self.present: Mask = np.zeros(n_nodes, dtype=np.bool_)
        self.any_limit: Mask = np.zeros(n_nodes, dtype=np.bool_)
        self._none: Mask = np.zeros(n_nodes, dtype=np.bool_)
        self._no_limit: Int64Array = np.full(n_nodes, -1, dtype=np.int64)
        self._limits: defaultdict[str, Int64Array] = defaultdict(self._no_limit.copy)
        self._installed: defaultdict[str, Mask] = defaultdict(self._none.copy)
        self._migrated: defaultdict[str, Mask] = defaultdict(self._none.copy)
        for csi_node in cluster.list(CSINode):
            row = cluster.nodes.row.get(csi_node.name)
            if row is None:
                continue
            self.present[row] = True
            for plugin in migrated_plugins(csi_node):
                self._migrated[plugin][row] = True
            for driver in csi_node.spec.drivers:
                self._installed[driver.name][row] = True
                if driver.allocatable is not None and driver.allocatable.count is not None:
                    self._limits[driver.name][row] = driver.allocatable.count
                    self.any_limit[row] = True

    @classmethod
    def of(cls, cluster: Cluster) -> CSINodes:
        """Return the CSINodes of a cluster; the object is cached."""
        return cluster.derived(cls, None, lambda: cls(cluster), of=(CSINode,))

    def installed(self, driver: str) -> Mask:
        """Return the nodes whose CSINode lists a driver: bool, shape (n_nodes,), read-only."""
        return self._installed.get(driver, self._none)

    def limit(self, driver: str) -> Int64Array:
        """Return each node's volume limit for a driver, -1 without a limit: int64, shape (n_nodes,), read-only."""
        return self._limits.get(driver, self._no_limit)

    def migrated(self, plugin: InTreePlugin) -> Mask:
        """Return the nodes whose CSINode lists a plugin as migrated: bool, shape (n_nodes,), read-only."""
        return self._migrated.get(plugin.name, self._none)
