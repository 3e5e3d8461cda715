"""Sites: sets of nodes that no filter and no goal distinguishes. The solver has one variable per site and kind."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.cluster.labels import LabelColumn
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.scheduler.plugins.node_resources.backed_resources import backed_resources
from kschedctl.trials.optimum.question import PlacementQuestion


@dataclass(frozen=True, slots=True)
class Site:
    """A set of identical nodes, by their rows in ascending order."""

    rows: tuple[int, ...]

    @property
    def row(self) -> int:
        """The first node, which represents all of them."""
        return self.rows[0]

    @property
    def n_nodes(self) -> int:
        return len(self.rows)


class PodCapacities:
    """The capacity of every node for the pods of a question.

    free: The free amount of each requested resource once all occupants have left.
    offered: True for nodes with a positive allocatable amount of the resource.
    """

    def __init__(self, question: PlacementQuestion) -> None:
        self.question = question
        cluster = question.cluster
        names = dict.fromkeys(name for kind in question.kinds for name in kind.filters.wanted)
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
        """The largest number of pods of each kind that a node without other pods takes: int64, shape (n_nodes,)."""
        return [self._most(number) for number in range(len(self.question.kinds))]

    def _most(self, number: int) -> Int64Array:
        kind = self.question.kinds[number]
        filters = kind.filters
        out = np.full(len(filters.allowed), np.iinfo(np.int32).max, dtype=np.int64)
        # Devices can provide a resource that a node does not offer; the real filters decide that in the end.
        backed = backed_resources(self.question.framework(kind).handle, filters.wanted)
        for name, amount in filters.wanted.items():
            if amount > 0:
                unlimited = ~self.offered[name] & (name in backed)
                out = np.minimum(out, np.where(unlimited, out, self.free[name] // amount))
        if filters.ports:
            out = np.minimum(out, 1)
        for counts in filters.exclusions:
            out[np.append(counts.counts > 0, False)[counts.column.codes]] = 0
        return np.where(filters.allowed, np.maximum(out, 0), 0)

    def usage(self, class_id: int, name: str) -> int:
        """Return the amount of a resource that a running pod of a class uses."""
        index = self.columns.index.get(name)
        return 0 if index is None else int(self.columns.per_class[index, class_id])

    @cached_property
    def reachable(self) -> Rows:
        """The nodes that can receive a pod of some kind."""
        return np.flatnonzero(np.any([most > 0 for most in self.most], axis=0)) if self.most else np.array([], np.int64)


def single_node_sites(capacity: PodCapacities) -> list[Site]:
    """Return a site for every node that can receive pods."""
    return [Site((row,)) for row in capacity.reachable.tolist()]


def grouped_sites(capacity: PodCapacities, more: Iterable[Int64Array] = ()) -> list[Site]:
    """Group the nodes that can receive pods.

    Args:
        more: Additional values that distinguish nodes, such as scores.
    """
    question, rows = capacity.question, capacity.reachable
    if not len(rows):
        return []
    features: list[Int64Array] = [*capacity.free.values(), *capacity.most, *more]
    features += [offered.astype(np.int64) for offered in capacity.offered.values()]
    # A node with occupants is a site of its own.
    occupied = np.zeros(len(question.cluster.nodes), dtype=np.int64)
    for number, occupants in enumerate(question.occupants):
        occupied[occupants.row] = number + 1
    features.append(occupied)
    columns: dict[int, LabelColumn] = {}
    for kind in question.kinds:
        filters = kind.filters
        columns.update((id(c.column), c.column) for c in (*filters.attractions, *filters.exclusions))
        columns.update((id(d.column), d.column) for d in filters.spread)
        features += [np.append(counts.counts, 0)[counts.column.codes] for counts in filters.attractions]
        for domains in filters.spread:
            features += [np.append(domains.counts, 0)[domains.column.codes], domains.included.astype(np.int64)]
    columns.update((id(gang.column), gang.column) for gang in question.gangs if gang.column is not None)
    for column in columns.values():
        features.append(column.present.astype(np.int64) if is_per_node(column) else column.codes)
    matrix = np.array([feature[rows] for feature in features], dtype=np.int64)
    _, of_row = np.unique(matrix, axis=1, return_inverse=True)
    groups: dict[int, list[int]] = {}
    for row, group in zip(rows.tolist(), of_row.reshape(len(rows)).tolist(), strict=True):
        groups.setdefault(group, []).append(row)
    return [Site(tuple(group)) for group in sorted(groups.values())]


def is_per_node(column: LabelColumn) -> bool:
    """Report whether every domain of a label is a single node, as for the hostname."""
    present = column.codes[column.present]
    return len(np.unique(present)) == len(present)
