"""Nodes as rows: what scheduling reads of them, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from kschedctl.api.core import ContainerImage, Node, QuantityText, Taint
from kschedctl.api.resources import parse_resources, scheduler_units
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.labels import LabelColumns


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
    """

    def __init__(self, objects: Sequence[Node]) -> None:
        self.objects = tuple(objects)
        self.names = tuple(node.name for node in self.objects)
        self.row = {name: i for i, name in enumerate(self.names)}
        self.labels = LabelColumns([node.metadata.labels for node in self.objects])

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def rows(self) -> Int64Array:
        """All rows: int64, shape (n_nodes,)."""
        return np.arange(len(self.objects), dtype=np.int64)

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
