"""Base class of edits of nodes, which name one node or all nodes that match a glob such as ``gke-*``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kschedctl.trials.whatif.edit import Edit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster


class NodeEdit(Edit):
    """A change of one node, or of all nodes that match a glob.

    Attributes
    ----------
    node : str
        The node's name, or a glob with ``*``, ``?`` and ``[...]``, which no node name can contain.
    """

    __slots__ = ()

    node: str

    @abstractmethod
    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the things that the edit changes on the node with this name."""

    def things(self) -> Iterator[Thing]:
        """Yield the things that the edit changes; a glob is not expanded, as that needs a cluster."""
        yield from self.things_of(self.node)

    def things_in(self, cluster: Cluster) -> Iterator[Thing]:
        """Yield the things that the edit changes on each matching node of a cluster."""
        names = cluster.nodes.names
        for row in self.rows(cluster):
            yield from self.things_of(names[row])

    def rows(self, cluster: Cluster) -> list[int]:
        """Return the rows of the matching nodes in the cluster's node table.

        Raises
        ------
        InputError
            If no node matches.
        """
        from kschedctl.trials.whatif.targets import find_nodes

        return find_nodes(cluster, self.node)


def nodes_in_words(cluster: Cluster, rows: Sequence[int], one: str, several: str) -> str:
    """Return a clause about one or more nodes: their number, their names and a verb.

    Parameters
    ----------
    rows : sequence of int
        The rows of the nodes, at least one.
    one, several : str
        The verb for one node and for several nodes.
    """
    from kschedctl.common.wording import counted, listed

    names = [cluster.nodes.names[row] for row in rows]
    if len(names) == 1:
        return f"node {names[0]} {one}"
    return f"{counted(len(names), 'node')} ({listed(names)}) {several}"
