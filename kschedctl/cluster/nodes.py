"""Nodes as rows, with the fields that scheduling depends on as columns, and an index of their images."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kschedctl.cluster.labels import LabelColumns
from kschedctl.cluster.versions import next_version
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.common.errors import InputError
from kschedctl.common.wording import near
from kschedctl.objects.core import ContainerImage, Node, QuantityText, Taint
from kschedctl.objects.kinds import without_kind
from kschedctl.objects.resources import exact_units, parse_resources

# An index from image names to the nodes that have them, updated incrementally when nodes change.

#: The index is rebuilt when more than 1/8 of the nodes differ from those it was built for.
_SHARE: Final = 8


class Images:
    """The images of some nodes.

    Args:
        nodes: The nodes, in the order of their rows.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
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
        self._found = found
        # The current row of each node that the index was built for; -1 for nodes that are gone or different.
        self._row: Rows = np.arange(len(nodes), dtype=np.int64)
        self._others: list[int] = []
        self._known: dict[str, tuple[Rows, int] | None] = {}

    def moved(self, nodes: Sequence[Node], source: Rows) -> "Images":
        """Return the images of other nodes.

        Args:
            source: The previous row of each node; -1 for nodes that are new or different.
        """
        row_of = np.full(len(self._nodes) + 1, -1, dtype=np.int64)
        row_of[source] = np.arange(len(source))
        row_of[-1] = -1
        row = row_of[self._row]
        is_other = np.ones(len(nodes) + 1, dtype=np.bool_)
        is_other[row] = False
        others = np.flatnonzero(is_other[:-1])
        if len(others) * _SHARE > len(nodes):
            return Images(nodes)
        new = object.__new__(Images)
        new._nodes, new._found, new._row, new._others, new._known = nodes, self._found, row, others.tolist(), {}
        return new

    def get(self, name: str) -> tuple[Rows, int] | None:
        """Return the rows of the nodes that have an image, and its size in bytes on the first of them."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> tuple[Rows, int] | None:
        holders = self._found.get(name, [])
        sizes = np.repeat(np.array([size for _, size in holders], dtype=np.int64), [len(rows) for rows, _ in holders])
        rows = self._row[np.array([row for rows, _ in holders for row in rows], dtype=np.int64)]
        rows, sizes = rows[rows >= 0], sizes[rows >= 0]
        said = [
            (row, next((image.size_bytes for image in self._nodes[row].status.images if name in image.names), None))
            for row in self._others
        ]
        more = [(row, size) for row, size in said if size is not None]
        if more:
            rows, sizes = (np.concatenate(pair) for pair in zip((rows, sizes), np.array(more).T, strict=True))
        if not len(rows):
            return None
        return np.sort(rows), int(sizes[rows.argmin()])


#: Rows of nodes with the same list of images, and the image size in that list, in bytes.
_Holders = list[tuple[list[int], int]]


T = TypeVar("T", bound=np.generic)


class Nodes:
    """The nodes of a cluster, one row per node, in the order of the snapshot.

    Attributes
    ----------
    objects : tuple of Node
        The node objects.
    names : tuple of str
        The node names.
    row : dict of str to int
        The row of each node name.
    labels : LabelColumns
        The node labels, one column per key.
    version : int
        A number that changes with every change of a node; equal numbers mean equal nodes.
    row_version : ndarray of int64, shape (n_nodes,)
        A number per node that changes with the node; equal numbers in a row mean the same node.
    """

    def __init__(self, objects: Sequence[Node]) -> None:
        self.objects = tuple(objects)
        self.names = tuple(node.name for node in self.objects)
        self.row = {name: i for i, name in enumerate(self.names)}
        self.labels = LabelColumns([node.metadata.labels for node in self.objects])
        self.version = next_version()
        self.row_version = np.full(len(self.objects), self.version, dtype=np.int64)

    def moved(self, objects: Sequence[Node]) -> "Nodes":
        """Return other nodes, keeping what was computed for the nodes that stay."""
        row = self.row
        same = [(at := row.get(node.name, -1)) >= 0 and self.objects[at] is node for node in objects]
        names = tuple(node.name for node in objects)
        if names == self.names:
            if all(same):
                return self
            source = np.where(same, self.rows, -1)
        else:
            source = np.array([row[node.name] if stays else -1 for node, stays in zip(objects, same, strict=True)])
        source = source.astype(np.int64)
        new = object.__new__(Nodes)
        new.objects = tuple(objects)
        new.names, new.row = names, {name: i for i, name in enumerate(names)}
        others = np.flatnonzero(source < 0)
        nodes = [objects[at] for at in others.tolist()]
        new.version = next_version()
        if names == self.names:
            # Sharing the mapping object marks the rows as unchanged.
            new.names, new.row = self.names, self.row
            new.labels = self.labels.patched(others, [node.metadata.labels for node in nodes])
            new.row_version = _carried(self.row_version, source, others, [new.version] * len(nodes))
        else:
            new.labels = LabelColumns([node.metadata.labels for node in objects])
            # Rows refer to different nodes, so no row version stays valid.
            new.row_version = np.full(len(objects), new.version, dtype=np.int64)
        new.__dict__.update(self._known_of(new, source, others))
        return new

    def _known_of(self, new: "Nodes", source: Rows, others: Rows) -> Iterator[tuple[str, object]]:
        """Yield the cached properties, updated for other nodes."""
        known = self.__dict__
        nodes = [new.objects[row] for row in others.tolist()]
        if new.row is self.row:
            yield from ((name, known[name]) for name in ("rows", "by_name") if name in known)
        if "unschedulable" in known:
            cordoned = [node.spec.unschedulable for node in nodes]
            yield "unschedulable", _carried(self.unschedulable, source, others, cordoned)
        if "_taints" in known:
            lists, codes = self._taints
            lists = lists.copy()
            own = [lists.setdefault(node.spec.taints, len(lists)) for node in nodes]
            yield "_taints", (lists, _carried(codes, source, others, own))
        if "images" in known:
            yield "images", self.images.moved(new.objects, source)
        if "allocatable" in known:
            amounts = [self.allocatable[row] for row in source.tolist()] if len(self) else [{}] * len(source)
            for row, node in zip(others.tolist(), nodes, strict=True):
                amounts[row] = exact_units(parse_resources(node.status.allocatable))
            yield "allocatable", tuple(amounts)

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def rows(self) -> Int64Array:
        """The rows of all nodes: int64, shape (n_nodes,)."""
        return np.arange(len(self.objects), dtype=np.int64)

    @cached_property
    def by_name(self) -> tuple[Int64Array, NDArray[np.object_]]:
        """The alphabetical position of each node, int64, and the names in that order, object; both shape (n_nodes,)."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        place = np.zeros(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return place, np.array([self.names[row] for row in order], dtype=np.object_)

    def find(self, name: str) -> int:
        """Return the row of the node with this name, which may be written as ``node/NAME``.

        Raises
        ------
        InputError
            If there is no such node.
        """
        # -o name prints node/NAME, and kubectl accepts it.
        name = without_kind(name, Node)
        row = self.row.get(name)
        if row is None:
            raise InputError(f"the cluster has no node {name}", hint=near(name, self.names, "nodes"))
        return row

    def sorted_names(self, rows: Rows) -> tuple[str, ...]:
        """Return the names of some nodes in alphabetical order."""
        place, names = self.by_name
        mask = np.zeros(len(names), dtype=np.bool_)
        mask[place[rows]] = True
        return tuple(names[mask].tolist())

    @cached_property
    def unschedulable(self) -> Mask:
        """The values of ``spec.unschedulable``: bool, shape (n_nodes,)."""
        return np.array([node.spec.unschedulable for node in self.objects], dtype=np.bool_)

    @cached_property
    def taint_lists(self) -> tuple[tuple[Taint, ...], ...]:
        """The distinct lists of taints."""
        return tuple(self._taints[0])

    @cached_property
    def taint_list(self) -> Int64Array:
        """The index of each node's taints in ``taint_lists``: int64, shape (n_nodes,)."""
        return self._taints[1]

    @cached_property
    def _taints(self) -> tuple[dict[tuple[Taint, ...], int], Int64Array]:
        interned: dict[tuple[Taint, ...], int] = {}
        codes = [interned.setdefault(node.spec.taints, len(interned)) for node in self.objects]
        return interned, np.array(codes, dtype=np.int64)

    @cached_property
    def images(self) -> Images:
        """The index from images to nodes."""
        return Images(self.objects)

    @cached_property
    def allocatable(self) -> tuple[dict[str, int], ...]:
        """The allocatable amounts of each node by resource, in milli-CPU, bytes and counts, however large."""
        interned: dict[tuple[tuple[str, QuantityText], ...], dict[str, int]] = {}
        out = []
        for node in self.objects:
            key = tuple(node.status.allocatable.items())
            if key not in interned:
                interned[key] = exact_units(parse_resources(node.status.allocatable))
            out.append(interned[key])
        return tuple(out)


def _carried(column: NDArray[T], source: Rows, others: Rows, values: Sequence[int]) -> NDArray[T]:
    """Return a column for other rows: old values from the ``source`` rows, and the given values for the ``others``."""
    out = column[source] if len(column) else np.zeros(len(source), dtype=column.dtype)
    out[others] = values
    return out
