"""Nodes as rows: what scheduling reads of them, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kschedctl.api.core import ContainerImage, Node, QuantityText, Taint
from kschedctl.api.resources import parse_resources, scheduler_units
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.labels import LabelColumns
from kschedctl.cluster.versions import next_version

T = TypeVar("T", bound=np.generic)


class Nodes:
    """The nodes of a cluster, a row each, in the order of the snapshot.

    Attributes
    ----------
    objects : tuple of Node
        The nodes themselves.
    names : tuple of str
        Their names.
    row : dict of str to int
        The row of a name.
    labels : LabelColumns
        Their labels, a column per key.
    version : int
        Changes with every node that does; nodes with the same number are the same.
    row_version : ndarray of int64, shape (n_nodes,)
        Changes with the node; a row with the same number is the same node.
    """

    def __init__(self, objects: Sequence[Node]) -> None:
        self.objects = tuple(objects)
        self.names = tuple(node.name for node in self.objects)
        self.row = {name: i for i, name in enumerate(self.names)}
        self.labels = LabelColumns([node.metadata.labels for node in self.objects])
        self.version = next_version()
        self.row_version = np.full(len(self.objects), self.version, dtype=np.int64)

    def moved(self, objects: Sequence[Node]) -> Nodes:
        """Other nodes. With the same names in the same order, columns go along but for the rows that differ."""
        if len(objects) != len(self.objects):
            return Nodes(objects)
        differing = [row for row, node in enumerate(objects) if node is not self.objects[row]]
        if any(objects[row].name != self.names[row] for row in differing):
            return Nodes(objects)
        if not differing:
            return self
        new = object.__new__(Nodes)
        new.objects, new.names, new.row = tuple(objects), self.names, self.row
        rows = np.array(differing, dtype=np.int64)
        nodes = [objects[row] for row in differing]
        new.labels = self.labels.patched(rows, [node.metadata.labels for node in nodes])
        new.version = next_version()
        new.row_version = self.row_version.copy()
        new.row_version[rows] = new.version
        known = self.__dict__
        new.__dict__.update({name: known[name] for name in ("rows", "by_name") if name in known})
        if "unschedulable" in known:
            new.__dict__["unschedulable"] = _patched(
                self.unschedulable, rows, [node.spec.unschedulable for node in nodes]
            )
        if "_taints" in known:
            lists, codes = self._taints
            lists = lists.copy()
            own = [lists.setdefault(node.spec.taints, len(lists)) for node in nodes]
            new.__dict__["_taints"] = lists, _patched(codes, rows, own)
        if "images" in known and all(
            node.status.images == self.objects[node_row].status.images
            for node_row, node in zip(differing, nodes, strict=True)
        ):
            new.__dict__["images"] = self.images
        if "allocatable" in known:
            amounts = list(self.allocatable)
            for row, node in zip(differing, nodes, strict=True):
                amounts[row] = scheduler_units(parse_resources(node.status.allocatable))
            new.__dict__["allocatable"] = tuple(amounts)
        return new

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def rows(self) -> Int64Array:
        """All rows: int64, shape (n_nodes,)."""
        return np.arange(len(self.objects), dtype=np.int64)

    @cached_property
    def by_name(self) -> tuple[Int64Array, tuple[str, ...]]:
        """The place of each node by name, int64, shape (n_nodes,); the names in that order."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        place = np.zeros(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return place, tuple(self.names[row] for row in order)

    @cached_property
    def unschedulable(self) -> Mask:
        """``spec.unschedulable``: bool, shape (n_nodes,)."""
        return np.array([node.spec.unschedulable for node in self.objects], dtype=np.bool_)

    @cached_property
    def taint_lists(self) -> tuple[tuple[Taint, ...], ...]:
        """The distinct lists of taints."""
        return tuple(self._taints[0])

    @cached_property
    def taint_list(self) -> Int64Array:
        """Which of ``taint_lists`` each node has: int64, shape (n_nodes,)."""
        return self._taints[1]

    @cached_property
    def _taints(self) -> tuple[dict[tuple[Taint, ...], int], Int64Array]:
        interned: dict[tuple[Taint, ...], int] = {}
        codes = [interned.setdefault(node.spec.taints, len(interned)) for node in self.objects]
        return interned, np.array(codes, dtype=np.int64)

    @cached_property
    def images(self) -> dict[str, tuple[Int64Array, int]]:
        """Per image name the rows of the nodes that have it, and its size in bytes as the first of them says."""
        lists: dict[tuple[ContainerImage, ...], list[int]] = {}
        for row, node in enumerate(self.objects):
            lists.setdefault(node.status.images, []).append(row)
        holders: dict[str, list[list[int]]] = {}
        sizes: dict[str, tuple[int, int]] = {}
        for images, rows in lists.items():
            for image in images:
                for name in dict.fromkeys(image.names):
                    found = holders.setdefault(name, [])
                    if not found or found[-1] is not rows:
                        found.append(rows)
                    # A list's nodes are not next to each other: the first row decides, not the first list.
                    if name not in sizes or rows[0] < sizes[name][0]:
                        sizes[name] = rows[0], image.size_bytes
        return {
            name: (np.array(sorted(row for rows in found for row in rows), dtype=np.int64), sizes[name][1])
            for name, found in holders.items()
        }

    @cached_property
    def allocatable(self) -> tuple[dict[str, int], ...]:
        """Per node what it offers, in the scheduler's units (milli-CPU, bytes, counts) by resource name."""
        interned: dict[tuple[tuple[str, QuantityText], ...], dict[str, int]] = {}
        out = []
        for node in self.objects:
            key = tuple(node.status.allocatable.items())
            if key not in interned:
                interned[key] = scheduler_units(parse_resources(node.status.allocatable))
            out.append(interned[key])
        return tuple(out)


def _patched(column: NDArray[T], rows: Int64Array, values: Sequence[int]) -> NDArray[T]:
    """A column with other values in some rows."""
    column = column.copy()
    column[rows] = values
    return column
