"""Resources as columns: the nodes' allocatable amounts and the requests of the pods on them."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodClass
from kschedctl.cluster.slots import Moves
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.quantity import bounded
from kschedctl.objects.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    RequestRules,
    non_zero_requests,
    pod_requests,
    scheduler_units,
)

if TYPE_CHECKING:
    from kschedctl.cluster.overlay import Overlay

_encode: Final = msgspec.msgpack.Encoder().encode
_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
_LARGEST: Final = 2**63 - 1
#: Sums that may exceed int64 are kept in halves of this many bits.
_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1


class ResourceColumns:
    """Resource amounts per node and per pod class, one array row per resource, in milli-CPU, bytes and counts.

    names: The resources: cpu, memory, ephemeral-storage, pods, then the others by name.
    non_zero_requested: CPU and memory as scoring counts them, with defaults for containers without requests.
    """

    #: The upper and lower halves of ``requested``, as sums, if one of them may exceed int64.
    _halves: tuple[Int64Array, Int64Array] | None

    def __init__(self, nodes: Nodes, pods: Pods, rules: RequestRules) -> None:
        requests, non_zero = _of_classes(pods.classes, rules)
        distinct, _ = _shared((*nodes.allocatable, *requests))
        others = {name for amounts in distinct for name in amounts} - set(_FIRST)
        self._rules = rules
        self._nodes = nodes
        self._mark = pods.mark
        self._class_table = pods.class_table
        self.names = (*_FIRST, *sorted(others))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.allocatable = self._columns(nodes.allocatable)
        self.per_class = self._columns(requests)
        self._non_zero_per_class = non_zero
        self._set_largest()
        self._sum(pods)

    def are_of(self, nodes: Nodes, pods: Pods) -> bool:
        """Report whether the columns belong to these nodes and pods."""
        return self._mark is pods.mark and self._nodes is nodes and self.per_class.shape[1] == len(pods.classes)

    def moved(self, nodes: Nodes, pods: Pods) -> "ResourceColumns | None":
        """Return the columns of derived nodes and pods; sums are updated by the changes.

        Returns: ``None`` if the columns must be rebuilt: a new pod or node has a resource without a column, or the
            pods were not derived from the pods of these columns.
        """
        if pods.class_table is not self._class_table:
            return None
        requests, non_zero = _of_classes(pods.classes[self.per_class.shape[1] :], self._rules)
        extends = nodes.extends(self._nodes)
        changed = self._changed_rows(nodes) if extends else nodes.rows.tolist()
        offers = [nodes.allocatable[row] for row in changed]
        if any(name not in self.index for amounts in (*requests, *offers) for name in amounts):
            return None
        new = object.__new__(ResourceColumns)
        new.__dict__.update(self.__dict__)
        new._nodes, new._mark = nodes, pods.mark
        if requests:
            new.per_class = np.concatenate((self.per_class, self._columns(requests)), axis=1)
            new._non_zero_per_class = np.concatenate((self._non_zero_per_class, non_zero), axis=1)
            new._set_largest()
        if not extends:
            new.allocatable = self._columns(offers)
        elif changed:
            new.allocatable = _extended(self.allocatable, len(nodes))
            new.allocatable[:, changed] = self._columns(offers)
        moves = pods.mark.moves_since(self._mark)
        if moves is None or new._saturates(pods):
            new._sum(pods)
        elif len(moves) or len(nodes) > len(self._nodes):
            new.requested = _extended(self.requested, len(nodes))
            new.non_zero_requested = _extended(self.non_zero_requested, len(nodes))
            new._move(moves)
        return new

    def _changed_rows(self, nodes: Nodes) -> list[int]:
        """Return the rows of nodes that are not those of these columns, given nodes that extend them."""
        if nodes is self._nodes:
            return []
        n_before = len(self._nodes)
        changed = np.flatnonzero(nodes.row_version[:n_before] != self._nodes.row_version)
        return [*changed.tolist(), *range(n_before, len(nodes))]

    def used(self, index: int, nodes: "Overlay", key: Hashable) -> Int64Array:
        """Return the sum of the requests for a resource in each world, with the pods that were added or removed.

        Args:
            key: The name of the quantity, as for ``Overlay.delta``.
        """
        # A slice copies nothing.
        rows = slice(None) if nodes.rows is self._nodes.rows else nodes.rows
        used: Int64Array = self.requested[index][rows]
        if not nodes.changed:
            return used
        if self._halves is None:
            return used + nodes.delta(key, self.per_class[index])
        high, low = (
            half[index][rows] + nodes.delta((key, i), part)
            for i, (half, part) in enumerate(zip(self._halves, _split(self.per_class[index]), strict=True))
        )
        return _joined(high, low)

    def _sum(self, pods: Pods) -> None:
        def total(per_class: Int64Array) -> Int64Array:
            return np.array([pods.sum_per_node(row) for row in per_class])

        self._halves = None
        if self._saturates(pods):
            high, low = (total(part) for part in _split(self.per_class))
            self._halves = high, low
            self.requested = _joined(high, low)
            self.non_zero_requested = _joined(*(total(part) for part in _split(self._non_zero_per_class)))
            return
        self.requested, self.non_zero_requested = total(self.per_class), total(self._non_zero_per_class)

    def _saturates(self, pods: Pods) -> bool:
        """Report whether a sum may exceed int64, in releases where it then stays at the largest number."""
        return self._rules.saturate and self._largest * (len(pods) + 1) > _LARGEST

    def _set_largest(self) -> None:
        """Find the largest amount that a pod requests."""
        self._largest = max(int(self.per_class.max(initial=0)), int(self._non_zero_per_class.max(initial=0)))

    def _move(self, moves: Moves) -> None:
        """Subtract the requests of removed pods and add those of added pods."""
        for slots, sign in moves.signed():
            if not len(slots):
                continue
            rows = moves.slots.take("node_row", slots)
            classes = moves.slots.take("class_id", slots)[rows >= 0]
            rows = rows[rows >= 0]
            if len(rows) == 1:
                self.requested[:, rows[0]] += sign * self.per_class[:, classes[0]]
                self.non_zero_requested[:, rows[0]] += sign * self._non_zero_per_class[:, classes[0]]
                continue
            np.add.at(self.requested.T, rows, sign * self.per_class[:, classes].T)
            np.add.at(self.non_zero_requested.T, rows, sign * self._non_zero_per_class[:, classes].T)

    def _columns(self, rows: Sequence[dict[str, int]]) -> Int64Array:
        distinct, number = _shared(rows)
        out = np.zeros((len(self.names), len(distinct)), dtype=np.int64)
        for i, amounts in enumerate(distinct):
            for name, amount in amounts.items():
                out[self.index[name], i] = bounded(amount, saturate=self._rules.saturate)
        return out[:, number]


def _shared(rows: Sequence[dict[str, int]]) -> tuple[list[dict[str, int]], Int64Array]:
    """Return the distinct objects among some amounts, of which many are shared, and which one each is."""
    numbers: dict[int, int] = {}
    number = np.fromiter((numbers.setdefault(id(each), len(numbers)) for each in rows), np.int64, len(rows))
    return [*{id(each): each for each in rows}.values()], number


def _extended(sums: Int64Array, n_nodes: int) -> Int64Array:
    """Return a copy of sums per node, with 0 for the nodes that come last."""
    if sums.shape[1] == n_nodes:
        return sums.copy()
    out = np.zeros((len(sums), n_nodes), dtype=np.int64)
    out[:, : sums.shape[1]] = sums
    return out


def _split(amounts: Int64Array) -> tuple[Int64Array, Int64Array]:
    return amounts >> _HALF, amounts & _LOW


def _joined(high: Int64Array, low: Int64Array) -> Int64Array:
    """Return the sum of halves, at most the largest int64."""
    high = high + (low >> _HALF)
    return np.where(high > _LARGEST >> _HALF, _LARGEST, (high << _HALF) + (low & _LOW))


def _of_classes(classes: Sequence[PodClass], rules: RequestRules) -> tuple[list[dict[str, int]], Int64Array]:
    """Return the requests of a pod of each class by resource, and its CPU and memory as scoring counts them."""
    requests = []
    non_zero = np.zeros((2, len(classes)), dtype=np.int64)
    # Most classes differ in labels alone.
    known: dict[bytes, tuple[dict[str, int], tuple[int, int]]] = {}
    for i, pod_class in enumerate(classes):
        pod, spec = pod_class.pod, pod_class.pod.spec
        key = _encode((spec.containers, spec.init_containers, spec.resources, spec.overhead, pod.status))
        found = known.get(key)
        if found is None:
            nanos = pod_requests(pod, rules)
            # A ``pods`` entry in a pod's requests is ignored; every pod counts as 1.
            found = {**scheduler_units(nanos, rules), PODS: 1}, non_zero_requests(pod, rules, nanos)
            known[key] = found
        requests.append(found[0])
        non_zero[:, i] = found[1]
    return requests, non_zero
