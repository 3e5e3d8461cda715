"""What the edits of nodes share: the node that is named, or all nodes whose names match a glob such as ``gke-*``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kschedctl.whatif.edit import Edit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster


class NodeEdit(Edit):
    """A change of one node, or of all that a glob means.

    Attributes
    ----------
    node : str
        The node's name, or a glob with ``*``, ``?`` and ``[...]``, which no name has.
    """

    __slots__ = ()

    node: str

    @abstractmethod
    def things_of(self, node: str) -> Iterator[Thing]:
        """What it changes in a node of that name."""

    def things(self) -> Iterator[Thing]:
        """What it changes, as far as that is known without a cluster."""
        yield from self.things_of(self.node)

    def things_in(self, cluster: Cluster) -> Iterator[Thing]:
        """What it changes in a cluster."""
        names = cluster.nodes.names
        for row in self.rows(cluster):
            yield from self.things_of(names[row])

    def rows(self, cluster: Cluster) -> list[int]:
        """The rows of its nodes.

        Raises
        ------
        InputError
            Where the cluster has no such node.
        """
        from kschedctl.whatif.targets import find_nodes

        return find_nodes(cluster, self.node)


def nodes_in_words(cluster: Cluster, rows: Sequence[int], one: str, several: str) -> str:
    """Some nodes (at least one) and a verb, with their number and names.

    Parameters
    ----------
    rows : sequence of int
        The nodes.
    one, several : str
        The verb for one of them and for several.
    """
    from kschedctl.api.wording import counted, listed

    names = [cluster.nodes.names[row] for row in rows]
    if len(names) == 1:
        return f"node {names[0]} {one}"
    return f"{counted(len(names), 'node')} ({listed(names)}) {several}"
