"""The parts of a cluster that a plugin's results depend on, by which the framework invalidates cached results."""

from enum import IntEnum
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.versions import Versions
from kschedctl.common.arrays import Rows
from kschedctl.objects.meta import ApiObject


class Reach(IntEnum):
    """The extent of a dependency: none, the node itself, or all nodes of the cluster."""

    NOTHING = 0
    NODE = 1
    CLUSTER = 2


class Dependencies(msgspec.Struct, frozen=True):
    """The dependencies of a plugin's result for a node, besides the pod to schedule and the plugin's arguments."""

    #: Dependency on the pods of the node itself, or of any node.
    pods: Reach = Reach.NOTHING
    #: Dependency on the node itself, or on any node.
    nodes: Reach = Reach.NOTHING
    #: Other object kinds the result depends on; any object of these kinds counts.
    kinds: frozenset[type[ApiObject]] = frozenset()


#: ``OF_NOTHING``: the result depends on the pod alone. ``OF_NODE``: it depends on the pod and the node.
OF_NOTHING: Final = Dependencies()
OF_NODE: Final = Dependencies(nodes=Reach.NODE)

_NO_ROWS: Final = np.zeros(0, dtype=np.int64)
_NO_ROWS.setflags(write=False)


class ClusterChanges:
    """The differences between an earlier and a later state of a cluster or of one derived from it."""

    def __init__(self, before: Versions, after: Versions) -> None:
        self._before = before
        self._after = after
        self._rows: dict[tuple[bool, bool], Rows] = {}
        self._touched: dict[int, Rows | None] = {}

    def touched(self, reads: Dependencies) -> Rows | None:
        """Return the nodes whose results may have changed.

        Returns: Node rows, ascending; ``None`` if the result may have changed for any node.
        """
        # Declarations of dependencies are class attributes and live as long as the class: their ids are never reused.
        key = id(reads)
        if key not in self._touched:
            before, after = self._before, self._after
            of_pods = reads.pods is not Reach.NOTHING and before.pods != after.pods
            of_nodes = reads.nodes is not Reach.NOTHING and before.nodes != after.nodes
            if before is after:
                rows: Rows | None = _NO_ROWS
            elif (
                len(before.row_nodes) != len(after.row_nodes)
                or (of_pods and reads.pods is Reach.CLUSTER)
                or (of_nodes and reads.nodes is Reach.CLUSTER)
                or (
                    before.kinds is not after.kinds
                    and any(before.kinds.get(kind) != after.kinds.get(kind) for kind in reads.kinds)
                )
            ):
                rows = None
            else:
                rows = self._rows_of(of_pods, of_nodes)
            self._touched[key] = rows
        return self._touched[key]

    def _rows_of(self, of_pods: bool, of_nodes: bool) -> Rows:
        rows = self._rows.get((of_pods, of_nodes))
        if rows is None:
            before, after = self._before, self._after
            differ = np.zeros(len(after.row_nodes), dtype=np.bool_)
            if of_pods:
                differ |= before.row_pods != after.row_pods
            if of_nodes:
                differ |= before.row_nodes != after.row_nodes
            rows = self._rows[of_pods, of_nodes] = np.flatnonzero(differ)
        return rows
