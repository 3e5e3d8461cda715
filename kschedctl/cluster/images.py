"""An index from image names to the nodes that have them, updated incrementally when nodes change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kschedctl.common.arrays import Rows
from kschedctl.objects.core import ContainerImage, Node

#: The index is rebuilt when more than 1/8 of the nodes differ from those it was built for.
_SHARE: Final = 8


class Images:
    """The images of some nodes.

    Parameters
    ----------
    nodes : sequence of Node
        The nodes, in the order of their rows.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._found = _by_name(nodes)
        # The current row of each node that the index was built for; -1 for nodes that are gone or different.
        self._row: Rows = np.arange(len(nodes), dtype=np.int64)
        self._others: list[int] = []
        self._known: dict[str, tuple[Rows, int] | None] = {}

    def moved(self, nodes: Sequence[Node], source: Rows) -> Images:
        """Return the images of other nodes.

        Parameters
        ----------
        source : ndarray of int64, shape (n_nodes,)
            The previous row of each node; -1 for nodes that are new or different.
        """
        row_of = np.full(len(self._nodes) + 1, -1, dtype=np.int64)
        row_of[source] = np.arange(len(source))
        row_of[-1] = -1
        row = row_of[self._row]
        others = np.setdiff1d(np.arange(len(nodes)), row)
        if len(others) * _SHARE > len(nodes):
            return Images(nodes)
        new = object.__new__(Images)
        new._nodes, new._found, new._row, new._others, new._known = nodes, self._found, row, others.tolist(), {}
        return new

    def get(self, name: str) -> tuple[Rows, int] | None:
        """Return the rows of the nodes that have an image, and its size in bytes on the first of them.

        Returns
        -------
        (ndarray of int64, int) or None
            ``None`` if no node has the image.
        """
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> tuple[Rows, int] | None:
        holders = self._found.get(name, [])
        sizes = np.repeat(np.array([size for _, size in holders], dtype=np.int64), [len(rows) for rows, _ in holders])
        rows = self._row[np.array([row for rows, _ in holders for row in rows], dtype=np.int64)]
        rows, sizes = rows[rows >= 0], sizes[rows >= 0]
        said = [(row, _size(self._nodes[row].status.images, name)) for row in self._others]
        more = [(row, size) for row, size in said if size is not None]
        if more:
            rows, sizes = (np.concatenate(pair) for pair in zip((rows, sizes), np.array(more).T, strict=True))
        if not len(rows):
            return None
        return np.sort(rows), int(sizes[rows.argmin()])


def _size(images: tuple[ContainerImage, ...], name: str) -> int | None:
    return next((image.size_bytes for image in images if name in image.names), None)


#: Rows of nodes with the same list of images, and the image size in that list, in bytes.
_Holders = list[tuple[list[int], int]]


def _by_name(nodes: Sequence[Node]) -> dict[str, _Holders]:
    """Return the nodes that have each image, by image name, and the sizes they report."""
    lists: dict[tuple[ContainerImage, ...], list[int]] = {}
    for row, node in enumerate(nodes):
        lists.setdefault(node.status.images, []).append(row)
    found: dict[str, _Holders] = {}
    for images, rows in lists.items():
        for image in images:
            holder = rows, image.size_bytes
            for name in image.names:
                holders = found.get(name)
                if holders is None:
                    found[name] = [holder]
                elif holders[-1][0] is not rows:
                    # If a list contains a name twice, the first entry counts.
                    holders.append(holder)
    return found
