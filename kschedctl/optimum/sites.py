"""Sites: nodes that no filter and no goal tells apart, which are one variable to the solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.arrays import Int64Array, Mask, Rows
from kschedctl.cluster.labels import LabelColumn
from kschedctl.optimum.question import Question


@dataclass(frozen=True, slots=True)
class Site:
    """Nodes that are alike.

    Attributes
    ----------
    rows : tuple of int
        Their rows, ascending.
    """

    rows: tuple[int, ...]

    @property
    def row(self) -> int:
        """One of them."""
        return self.rows[0]

    @property
    def n_nodes(self) -> int:
        """How many they are."""
        return len(self.rows)


class Ground:
    """What nodes offer the pods of a question.

    Parameters
    ----------
    question : Question
        The question.

    Attributes
    ----------
    free : dict of str to ndarray of int64, shape (n_nodes,)
        What is free of each resource that a kind wants, once all have left who may.
    offered : dict of str to ndarray of bool, shape (n_nodes,)
        Where a resource is offered at all.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        cluster = question.cluster
        names = dict.fromkeys(name for kind in question.kinds for name in kind.sifted.wanted)
        self.free: dict[str, Int64Array] = {}
        self.offered: dict[str, Mask] = {}
        if not question.kinds:
            return
        self.columns = cluster.resources(question.framework(question.kinds[0]).handle.request_rules)
        for name in names:
            index = self.columns.index.get(name)
            offers = np.zeros(len(cluster.nodes), dtype=np.int64) if index is None else self.columns.allocatable[index]
            taken = np.zeros(len(cluster.nodes), dtype=np.int64) if index is None else self.columns.requested[index]
            self.free[name], self.offered[name] = offers - taken, offers > 0

    @cached_property
    def most(self) -> list[Int64Array]:
        """How many pods of each kind a node takes if it has nobody else: int64, shape (n_nodes,)."""
        return [self._most(number) for number in range(len(self.question.kinds))]

    def _most(self, number: int) -> Int64Array:
        sifted = self.question.kinds[number].sifted
        out = np.full(len(sifted.allowed), np.iinfo(np.int32).max, dtype=np.int64)
        for name, amount in sifted.wanted.items():
            if amount > 0:
                # Where a resource is not offered, devices may stand for it; the filters say so in the end.
                fits = self.free[name] // amount
                backed = self._backed(number, name) & ~self.offered[name]
                out = np.minimum(out, np.where(backed, out, fits))
        if sifted.ports:
            out = np.minimum(out, 1)
        for counts in (*sifted.affinity.anti_affinity, *sifted.affinity.existing) if sifted.affinity else ():
            # Those that stay are not wanted near, or do not want these near.
            crowded = np.append(counts.counts > 0, False)[counts.column.codes]
            out[crowded] = 0
        return np.where(sifted.allowed, np.maximum(out, 0), 0)

    def _backed(self, number: int, name: str) -> bool:
        from kschedctl.plugins.node_resources.backed import backed_resources

        kind = self.question.kinds[number]
        return name in backed_resources(self.question.framework(kind).handle, kind.sifted.wanted)

    def usage(self, class_id: int, name: str) -> int:
        """What a running pod of a class uses of a resource."""
        index = self.columns.index.get(name)
        return 0 if index is None else int(self.columns.per_class[index, class_id])

    @cached_property
    def columns_read(self) -> list[LabelColumn]:
        """The labels of nodes that relations between pods read, each once."""
        out: dict[int, LabelColumn] = {}
        for kind in self.question.kinds:
            affinity = kind.sifted.affinity
            groups = (*affinity.affinity, *affinity.anti_affinity, *affinity.existing) if affinity is not None else ()
            for column in (*(c.column for c in groups), *(d.column for d in kind.sifted.spread)):
                out[id(column)] = column
        return list(out.values())

    @cached_property
    def reachable(self) -> Rows:
        """The nodes on which any pod could be placed."""
        mask = np.zeros(len(self.question.cluster.nodes), dtype=np.bool_)
        for most in self.most:
            mask |= most > 0
        return np.flatnonzero(mask)


def each_node(ground: Ground) -> list[Site]:
    """Every node that any pod could be placed on as a site of its own."""
    return [Site((row,)) for row in ground.reachable.tolist()]


def nodes_alike(ground: Ground, more: Iterable[Int64Array] = ()) -> list[Site]:
    """The same, those that are alike together.

    Parameters
    ----------
    more : iterable of ndarray of int64, shape (n_nodes,)
        What else tells nodes apart, such as scores.
    """
    question, rows = ground.question, ground.reachable
    if not len(rows):
        return []
    features: list[Int64Array] = [*ground.free.values(), *ground.most, *more]
    features += [offered.astype(np.int64) for offered in ground.offered.values()]
    alone = np.zeros(len(question.cluster.nodes), dtype=np.int64)
    for number, occupants in enumerate(question.occupants):
        alone[occupants.row] = number + 1
    features.append(alone)
    for column in ground.columns_read:
        features.append(column.present.astype(np.int64) if is_inner(column) else column.codes)
    for kind in question.kinds:
        affinity = kind.sifted.affinity
        for counts in affinity.affinity if affinity is not None else ():
            features.append(np.append(counts.counts, 0)[counts.column.codes])
        for domains in kind.sifted.spread:
            features += [np.append(domains.counts, 0)[domains.column.codes], domains.included.astype(np.int64)]
    matrix = np.array([feature[rows] for feature in features], dtype=np.int64)
    _, of_row = np.unique(matrix, axis=1, return_inverse=True)
    groups: dict[int, list[int]] = {}
    for row, group in zip(rows.tolist(), of_row.reshape(len(rows)).tolist(), strict=True):
        groups.setdefault(group, []).append(row)
    return [Site(tuple(group)) for group in sorted(groups.values())]


def is_inner(column: LabelColumn) -> bool:
    """Whether every domain of a label is a single node, as of the hostname."""
    present = column.codes[column.present]
    return len(np.unique(present)) == len(present)
