"""Nodes as rows, with the fields that scheduling depends on as columns, and an index of their images."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import is_
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
from kschedctl.objects.well_known import zone_of

# An index from image names to the nodes that have them, updated incrementally when nodes change.

#: The index is rebuilt when more than 1/8 of the nodes differ from those it was built for.
_SHARE: Final = 8
#: Looking through the nodes for so many images takes as long as the index.
_FEW_IMAGES: Final = 4
#: Rows of nodes with the same list of images, and the size of one of these, in bytes.
_Holder = tuple[list[int], int]


class Images:
    """The images of some nodes.

    Args:
        nodes: The nodes, in the order of their rows.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        # The nodes with each name; ``None`` while there is no index.
        self._found: dict[str, list[_Holder]] | None = None
        # The current row of each node that the index was built for; -1 for nodes that are gone or different.
        self._row: Rows = np.zeros(0, dtype=np.int64)
        # The rows of the nodes that are not in the index.
        self._others: Sequence[int] = range(len(nodes))
        self._known: dict[str, tuple[Rows, int] | None] = {}

    def _index(self) -> dict[str, list[_Holder]]:
        lists: dict[tuple[ContainerImage, ...], list[int]] = {}
        for row, node in enumerate(self._nodes):
            lists.setdefault(node.status.images, []).append(row)
        found: dict[str, list[_Holder]] = {}
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
        self._row, self._others, self._found = np.arange(len(self._nodes), dtype=np.int64), (), found
        return found

    def moved(self, nodes: Sequence[Node], source: Rows) -> "Images":
        """Return the images of other nodes.

        Args:
            source: The previous row of each node; -1 for nodes that are new or different.
        """
        # All other nodes that are derived from these need the index, too.
        found = self._index() if self._found is None else self._found
        row_of = np.full(len(self._nodes) + 1, -1, dtype=np.int64)
        row_of[source] = np.arange(len(source))
        row_of[-1] = -1
        row = row_of[self._row]
        is_other = np.ones(len(nodes), dtype=np.bool_)
        is_other[row[row >= 0]] = False
        others = np.flatnonzero(is_other)
        if len(others) * _SHARE > len(nodes):
            return Images(nodes)
        new = object.__new__(Images)
        new._nodes, new._found, new._row, new._others, new._known = nodes, found, row, others.tolist(), {}
        return new

    def get(self, name: str) -> tuple[Rows, int] | None:
        """Return the rows of the nodes that have an image, and its size in bytes on the first of them."""
        if name not in self._known:
            if self._found is None and len(self._known) == _FEW_IMAGES:
                self._index()
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> tuple[Rows, int] | None:
        holders = self._found.get(name, []) if self._found is not None else []
        sizes = np.repeat(np.array([size for _, size in holders], dtype=np.int64), [len(rows) for rows, _ in holders])
        rows = self._row[np.array([row for rows, _ in holders for row in rows], dtype=np.int64)]
        rows, sizes = rows[rows >= 0], sizes[rows >= 0]
        more: dict[int, int] = {}
        for row in self._others:
            for image in self._nodes[row].status.images:
                if name in image.names:
                    more.setdefault(row, image.size_bytes)
        if more:
            there = np.array([*more], dtype=np.int64), np.array([*more.values()], dtype=np.int64)
            rows, sizes = (np.concatenate(pair) for pair in zip((rows, sizes), there, strict=True))
        if not len(rows):
            return None
        return np.sort(rows), int(sizes[rows.argmin()])


T = TypeVar("T", bound=np.generic)
V = TypeVar("V")


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
        n_before = len(self)
        new = object.__new__(Nodes)
        new.objects = tuple(objects)
        stays = np.fromiter(map(is_, self.objects, objects), dtype=np.bool_)
        changed = np.flatnonzero(~stays).tolist()
        if len(objects) >= n_before and all(objects[row].name == self.names[row] for row in changed):
            if len(objects) == n_before and not changed:
                return self
            new.names = (*self.names, *(node.name for node in objects[n_before:]))
            source = np.full(len(objects), -1, dtype=np.int64)
            source[:n_before] = np.where(stays, self.rows, -1)
        else:
            row = self.row
            new.names = tuple(node.name for node in objects)
            at = (row.get(name, -1) for name in new.names)
            found = (i if i >= 0 and self.objects[i] is node else -1 for i, node in zip(at, objects, strict=True))
            source = np.fromiter(found, dtype=np.int64, count=len(objects))
        others = np.flatnonzero(source < 0)
        nodes = [objects[at] for at in others.tolist()]
        new.version = next_version()
        # Sharing the mapping object marks the rows as unchanged.
        new.row = self.row
        extends = new.names[:n_before] == self.names
        if len(new) > n_before and extends:
            new.row = {**self.row, **{name: row for row, name in enumerate(new.names[n_before:], n_before)}}
        elif new.names != self.names:
            new.row = {name: i for i, name in enumerate(new.names)}
        if extends:
            new.labels = self.labels.patched(others, [node.metadata.labels for node in nodes])
            new.row_version = _carried(self.row_version, source, others, [new.version] * len(nodes))
        else:
            new.labels = LabelColumns([node.metadata.labels for node in objects])
            # Rows refer to different nodes, so no row version stays valid.
            new.row_version = np.full(len(objects), new.version, dtype=np.int64)
        new.__dict__.update(self._known_of(new, source, others, extends=extends))
        return new

    def extends(self, other: "Nodes") -> bool:
        """Report whether every row of the other nodes is that of the node of the same name here."""
        return self.row is other.row or self.names[: len(other)] == other.names

    def _known_of(self, new: "Nodes", source: Rows, others: Rows, *, extends: bool) -> Iterator[tuple[str, object]]:
        """Yield the cached properties, updated for other nodes."""
        known = self.__dict__
        nodes = [new.objects[row] for row in others.tolist()]

        def carried(values: tuple[V, ...], own: Sequence[V]) -> tuple[V, ...]:
            if extends:
                out = [*values, *own[: len(new) - len(self)]]
            else:
                out = [values[row] if row >= 0 else own[0] for row in source.tolist()]
            for row, value in zip(others.tolist(), own, strict=True):
                out[row] = value
            return tuple(out)

        if new.row is self.row:
            yield from ((name, known[name]) for name in ("rows", "by_name") if name in known)
        if "zones" in known:
            yield "zones", carried(self.zones, [zone_of(node.metadata.labels) for node in nodes])
        if "unschedulable" in known:
            cordoned = [node.spec.unschedulable for node in nodes]
            yield "unschedulable", _carried(self.unschedulable, source, others, cordoned)
        if "_taints" in known:
            lists, codes = self._taints
            lists = lists.copy()
            own = [lists.setdefault(node.spec.taints, len(lists)) for node in nodes]
            yield "_taints", (lists, _carried(codes, source, others, own))
        if "images" in known:
            images = [node.status.images for node in nodes]
            same = new.row is self.row and images == [self.objects[row].status.images for row in others.tolist()]
            yield "images", self.images if same else self.images.moved(new.objects, source)
        if "allocatable" in known:
            offers = [exact_units(parse_resources(node.status.allocatable)) for node in nodes]
            yield "allocatable", carried(self.allocatable, offers)
        if "label_keys" in known and extends and (not len(others) or others[0] >= len(self)):
            yield "label_keys", self.label_keys.union(*(node.metadata.labels for node in nodes))

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
    def zones(self) -> tuple[str, ...]:
        """The zone of each node; empty for a node without one."""
        return tuple(zone_of(node.metadata.labels) for node in self.objects)

    @cached_property
    def label_keys(self) -> frozenset[str]:
        """The keys of all labels."""
        return frozenset(key for node in self.objects for key in node.metadata.labels)

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

    @cached_property
    def offers(self) -> tuple[dict[str, int], ...]:
        """The distinct amounts in ``allocatable``; nodes that were added later may repeat one."""
        return tuple({id(amounts): amounts for amounts in self.allocatable}.values())


def _carried(column: NDArray[T], source: Rows, others: Rows, values: Sequence[int]) -> NDArray[T]:
    """Return a column for other rows: old values from the ``source`` rows, and the given values for the ``others``."""
    out = column[source] if len(column) else np.zeros(len(source), dtype=column.dtype)
    out[others] = values
    return out
