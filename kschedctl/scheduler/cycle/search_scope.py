"""The nodes that a search for feasible nodes looks at."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

#: No search ends before it has found so many feasible nodes (upstream ``minFeasibleNodesToFind``).
MIN_FEASIBLE_NODES_TO_FIND: Final = 100


class SearchScope(StrEnum):
    """The nodes that a search for feasible nodes looks at."""

    #: The search stops early, so that the start decides which nodes are scored.
    SAMPLE = "sample"
    #: The search looks for as many feasible nodes as there are nodes.
    ALL_NODES = "allNodes"
    #: There are no more feasible nodes than the search looks for.
    ALL_FEASIBLE = "allFeasible"
    #: The pod fits on the node that it is nominated to, so that no other node is looked at.
    NOMINATED = "nominated"
    #: Not followed: PreFilter names the nodes, and kube-scheduler goes through them in a random order.
    PRE_FILTER = "preFilter"
    #: Not followed: the pod is tried with its group, whose earlier members depend on samples, too.
    POD_GROUP = "podGroup"
