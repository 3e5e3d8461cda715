"""Pods as columns, and pod classes: groups of pods that affect the scheduling of other pods in the same way.

A cluster of 150,000 pods has a few thousand classes. A plugin evaluates a property of pods once per class (whether a
selector matches, the requests, the host ports) and then counts pods per class and node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final, TypeVar, cast, overload

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.records import NOT_STARTED, PodClass, PodRecord
from kschedctl.cluster.slots import Mark, Moves, PodClasses, PodName, PodSlots, Slots
from kschedctl.cluster.versions import next_version
from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.objects.meta import OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import VictimTies
from kschedctl.objects.selectors import Selector

# The number of pods per class and node, as sparse cells: a sum per node is one pass over the cells.


class Cells(msgspec.Struct, frozen=True):
    """The pairs of class and node that have pods."""

    #: Class, node row, and number of pods; by class and then by node.
    classes: Int64Array
    rows: Int64Array
    counts: Int64Array
    #: The position of the first cell of each class; the last entry is the number of cells.
    offsets: Int64Array

    @classmethod
    def of(cls, class_id: Int64Array, node_row: Int64Array, n_classes: int, counts: Int64Array | None = None) -> Cells:
        """Count pods by class and node.

        Args:
            class_id, node_row: The class and the node row of each pod; pods without a node (negative row) are not
                counted.
            counts: The weight of each pod; by default 1.
        """
        here = np.flatnonzero(node_row >= 0)
        class_id, node_row = class_id[here], node_row[here]
        n_rows = int(node_row.max(initial=0)) + 1
        if counts is None:
            pairs, number = np.unique(class_id * n_rows + node_row, return_counts=True)
        else:
            pairs, inverse = np.unique(class_id * n_rows + node_row, return_inverse=True)
            number = np.zeros(len(pairs), dtype=np.int64)
            np.add.at(number, inverse, counts[here])
            pairs, number = pairs[number != 0], number[number != 0]
        classes, rows = np.divmod(pairs, n_rows)
        return cls(classes, rows, number.astype(np.int64), np.searchsorted(classes, np.arange(n_classes + 1)))

    def among(self, class_ids: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return class, row and count of the cells of some classes, given ascending; unknown classes have no cells."""
        n_known = len(self.offsets) - 1
        class_ids = class_ids[: np.searchsorted(class_ids, n_known)]
        if len(class_ids) == n_known:
            return self.classes, self.rows, self.counts
        starts = self.offsets[class_ids]
        lengths = self.offsets[class_ids + 1] - starts
        ends = np.cumsum(lengths)
        at = np.repeat(starts - ends + lengths, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
        return self.classes[at], self.rows[at], self.counts[at]


# Orders of pods by node and by importance, updated incrementally when pods come and go.


def by_node(pods: Mark, n_nodes: int) -> tuple[Slots, Int64Array]:
    """Return the slots of pods on nodes, sorted by node and slot, and each node's offset, shape (n_nodes + 1,)."""
    rows = pods.column("node_row")
    here = np.flatnonzero(rows >= 0)
    here = here[np.argsort(rows[here], kind="stable")]
    return pods.slots_of(here), np.searchsorted(rows[here], np.arange(n_nodes + 1))


def by_node_moved(slots: Slots, moves: Moves) -> Slots:
    """Return slots sorted by node, after removals and additions; added pods come last on their node."""
    if len(moves.gone):
        slots = slots[~np.isin(slots, moves.gone)]
    rows = moves.slots.take("node_row", moves.come)
    come, rows = moves.come[rows >= 0], rows[rows >= 0]
    if not len(come):
        return slots
    order = np.argsort(rows, kind="stable")
    end = int(max(slots.max(initial=-1), come.max())) + 1
    here = moves.slots.column("node_row", 0, end)[slots]
    return np.insert(slots, np.searchsorted(here, rows[order], side="right"), come[order])


def by_importance(pods: Mark, *, ties: VictimTies) -> Slots:
    """Return the slots of pods on nodes, sorted by node and then by importance (see ``Pods.by_importance``)."""
    slots = pods.slots_of(np.flatnonzero(pods.column("node_row") >= 0))
    return _sorted(pods.slots, slots, pods.end, ties=ties)


def importance_moved(slots: Slots, moves: Moves, *, ties: VictimTies) -> Slots:
    """Return slots sorted by importance, after removals and additions; only the affected nodes are sorted again."""
    end = int(max(slots.max(initial=-1), moves.come.max(initial=-1), moves.gone.max(initial=-1))) + 1
    rows = moves.slots.column("node_row", 0, end)
    moved = np.concatenate((rows[moves.gone], rows[moves.come]))
    touched = np.zeros(int(rows.max(initial=0)) + 1, dtype=np.bool_)
    touched[moved[moved >= 0]] = True
    again = touched[rows[slots]]
    come = moves.come[rows[moves.come] >= 0]
    some = np.sort(np.concatenate((slots[again], come)))
    some = some[~np.isin(some, moves.gone)] if len(moves.gone) else some
    some, rest = _sorted(moves.slots, some, end, ties=ties), slots[~again]
    return np.insert(rest, np.searchsorted(rows[rest], rows[some]), some)


def _sorted(slots: PodSlots, some: Slots, end: int, *, ties: VictimTies) -> Slots:
    rows, priority, start = (slots.column(name, 0, end)[some] for name in ("node_row", "priority", "start_time"))
    tie = np.where(start == NOT_STARTED, -some, some) if ties is VictimTies.UNSTARTED_REVERSED else some
    order = np.lexsort((tie, start, -priority, rows))
    if ties is VictimTies.BY_UID:
        order = sorted_by_uid(order, np.stack((rows, priority, start)), lambda i: slots.record(int(some[i])))
    return some[order]


def sorted_by_uid(order: Int64Array, keys: Int64Array, record: Callable[[int], PodRecord]) -> Int64Array:
    """Return positions that are sorted by some keys with those that tie sorted by the uid of their pods.

    Args:
        keys: int64, shape (n_keys, n_positions).
        record: Returns the record of the pod at a position.
    """
    order, keys = order.copy(), keys[:, order]
    tied = np.flatnonzero((keys[:, 1:] == keys[:, :-1]).all(axis=0))
    # Runs of tied pods, from the first to the last.
    for run in np.split(tied, np.flatnonzero(np.diff(tied) > 1) + 1) if len(tied) else ():
        at = slice(run[0], run[-1] + 2)
        order[at] = sorted(order[at].tolist(), key=lambda i: record(i).metadata.uid)
    return order


# Sequence and mapping views of a list of pods: records by index, and indices by pod name.


class PodRecords(Sequence[PodRecord]):
    """A sequence of the pods' records, in order."""

    def __init__(self, pods: Mark) -> None:
        self._pods = pods
        self._number = len(pods)
        # The pods that were read first have the first slots, up to one that was removed: their records are read one by
        # one very often.
        n_whole = int(pods.empty[0]) if len(pods.empty) else pods.end
        self._first, self._n_first = pods.slots.first_records, min(pods.slots.n_first, n_whole)

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, index: int) -> PodRecord: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PodRecord]: ...

    def __getitem__(self, index: int | slice) -> PodRecord | Sequence[PodRecord]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index < 0:
            index += self._number
        if not 0 <= index < self._number:
            raise IndexError(index)
        if index < self._n_first:
            return self._first[index]
        return self._pods.slots.record(self._pods.slot_of(index))

    def __iter__(self) -> Iterator[PodRecord]:
        records = self._pods.slots.records(self._pods.end)
        if not len(self._pods.empty):
            return iter(records)
        return map(records.__getitem__, self._pods.own_slots().tolist())


class PodIndex(Mapping[PodName, int]):
    """A mapping from namespace and name to the index of a pod."""

    def __init__(self, pods: Mark) -> None:
        self._pods = pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[PodName]:
        return (record.name for record in PodRecords(self._pods))

    def expect(self, n_names: int) -> None:
        """Prepare for a number of names to be looked up."""
        self._pods.slots.expect(n_names)

    def __getitem__(self, name: PodName) -> int:
        pods = self._pods
        slot = pods.slots.slot_of(name, pods.end)
        if slot is None:
            raise KeyError(name)
        empty = pods.empty
        before = int(empty.searchsorted(slot)) if len(empty) else 0
        if before < len(empty) and empty[before] == slot:
            raise KeyError(name)
        return slot - before


V = TypeVar("V")

#: The maximum number of moves since a count; beyond it, pods are counted again, as each query processes all moves.
_MANY_MOVES: Final = 4096
#: Pods move to new slots when more than 1024 slots, and more than 1/64 of all slots, are empty.
_MANY_EMPTY: Final = 1024
_EMPTY_SHARE: Final = 64
_NO_SLOTS: Final = np.zeros(0, dtype=np.int64)
_NO_SLOTS.setflags(write=False)


class Pods:
    """The unfinished pods of a cluster, as columns. Immutable.

    Parameters
    ----------
    records : sequence of PodRecord
        The pods' records, in the order of the snapshot.
    classes : sequence of PodClass
        The distinct classes.
    nodes : Nodes
        The cluster's nodes.

    Attributes
    ----------
    classes : tuple of PodClass
        The distinct classes.
    version : int
        A number that changes with every added or removed pod; equal numbers mean equal pods.
    row_version : ndarray of int64, shape (n_nodes,)
        A number per node that changes with its pods; equal numbers mean equal pods on the node.
    """

    def __init__(self, records: Sequence[PodRecord], classes: Sequence[PodClass], nodes: Nodes) -> None:
        slots = PodSlots(records, nodes)
        self._set(Mark(slots, len(slots), _NO_SLOTS), PodClasses(classes), tuple(classes), nodes)
        self.version = next_version()
        self.row_version = np.full(len(nodes), self.version, dtype=np.int64)
        self._moving: dict[Hashable, tuple[Mark, object]] = {}
        # The pods that these were derived from in any number of steps, with the same slots.
        self._origin = self

    def _set(self, mark: Mark, table: PodClasses, classes: tuple[PodClass, ...], nodes: Nodes) -> None:
        self.mark = mark
        self.class_table = table
        self.classes = classes
        self._nodes = nodes

    def moved(self, removed: PodIndices, added: Sequence[PodRecord]) -> Pods:
        """Return the pods with some removed and others appended.

        Parameters
        ----------
        removed : ndarray of int64
            Indices of pods, ascending and distinct.
        added : sequence of PodRecord
            The new pods; their classes are already in ``class_table``.
        """
        mark = self.mark
        gone = self.mark.slots_of(removed)
        slots = mark.slots.append(mark.end, added) if len(added) else mark.slots
        empty = np.sort(np.concatenate((mark.empty, gone))) if len(gone) else mark.empty
        new = object.__new__(Pods)
        table = self.class_table
        classes = self.classes if len(table.all) == len(self.classes) else tuple(table.all)
        end = mark.end + len(added)
        new._moving, new._origin = self._moving.copy(), self._origin
        if len(empty) > _MANY_EMPTY and len(empty) * _EMPTY_SHARE > end:
            slots, empty, new._moving, new._origin = slots.without(empty, end), _NO_SLOTS, {}, new
            end = len(slots)
        new._set(Mark(slots, end, empty), table, classes, self._nodes)
        new.version = next_version()
        touched = slots.column("node_row", end - len(added), end)
        if len(gone):
            touched = np.concatenate((mark.slots.take("node_row", gone), touched))
        new.row_version = self.row_version.copy()
        new.row_version[touched[touched >= 0]] = new.version
        return new

    def on(self, nodes: Nodes) -> Pods:
        """Return the same pods over other nodes; pods on a removed node get the row ``LOST``."""
        new = object.__new__(Pods)
        mark, same = self.mark, nodes.row is self._nodes.row
        if not same:
            mark = Mark(mark.slots.on(nodes, mark.end), mark.end, mark.empty)
        new._set(mark, self.class_table, self.classes, nodes)
        # Values by node row stay valid if no row changes.
        kept = same or mark.moves_since(self.mark) is not None
        new._moving, new._origin = (self._moving.copy(), self._origin) if kept else ({}, new)
        new.version = self.version if same else next_version()
        new.row_version = self.row_version if same else np.full(len(nodes), new.version, dtype=np.int64)
        if not same and nodes.extends(self._nodes):
            new.row_version[: len(self._nodes)] = self.row_version
        return new

    def __len__(self) -> int:
        return len(self.mark)

    def moving(self, key: Hashable, make: Callable[[Pods], V], move: Callable[[V, Moves], V | None] | None = None) -> V:
        """Return a value computed from the pods, updated incrementally when pods come and go.

        The first time, it is computed for the pods that these were derived from, so that it is there for all others
        that are derived from them.

        Parameters
        ----------
        key : hashable
            The name of the value.
        make : callable
            Computes the value for some pods.
        move : callable, optional
            Computes the value from the value for earlier pods and the moves since; returns ``None`` if it cannot.
            Without it, the value is computed for these pods alone.
        """
        known = self._moving.get(key)
        if known is not None and known[0] is self.mark:
            return cast("V", known[1])
        value = None
        if move is not None:
            if known is None and self._origin is not self:
                known = self._origin.mark, self._origin.moving(key, make, move)
            moves = self.mark.moves_since(known[0]) if known is not None else None
            if known is not None and moves is not None:
                value = move(cast("V", known[1]), moves)
        if value is None:
            value = make(self)
        self._moving[key] = self.mark, value
        return value

    @cached_property
    def slots(self) -> Slots:
        """The slot of each pod: int64, shape (n_pods,), ascending."""
        return self.mark.own_slots()

    @cached_property
    def class_id(self) -> Int64Array:
        """Index into ``classes``: int64, shape (n_pods,)."""
        return self.mark.column("class_id")

    @cached_property
    def node_row(self) -> Int64Array:
        """The row of the pod's node: int64, shape (n_pods,).

        ``PENDING`` without a node, ``LOST`` if the node does not exist.
        """
        return self.mark.column("node_row")

    @cached_property
    def priority(self) -> Int64Array:
        """The value of ``spec.priority``, 0 without one: int64, shape (n_pods,)."""
        return self.mark.column("priority")

    @cached_property
    def nominated_row(self) -> Int64Array:
        """The row of a pending pod's nominated node; ``PENDING`` without one: int64, shape (n_pods,)."""
        return self.mark.column("nominated_row")

    @cached_property
    def start_time(self) -> Int64Array:
        """The value of ``status.startTime`` in microseconds since 1970, or ``NOT_STARTED``: int64, shape (n_pods,)."""
        return self.mark.column("start_time")

    @cached_property
    def records(self) -> Sequence[PodRecord]:
        """The pods' records, in the order of the snapshot."""
        return PodRecords(self.mark)

    def some_records(self, indices: PodIndices) -> Iterator[PodRecord]:
        """Yield the records of many pods: faster than ``records`` one by one."""
        records = self.mark.slots.records(self.mark.end)
        return map(records.__getitem__, self.mark.slots_of(indices).tolist())

    def pod(self, index: int) -> Pod:
        """Return the pod at an index, defaulted; only its record has the node name, as equal pods share their spec."""
        record = self.records[index]
        return Pod(metadata=record.metadata, spec=record.spec, status=record.status)

    def key(self, index: int) -> str:
        """Return ``namespace/name`` of the pod at an index."""
        metadata = self.records[index].metadata
        return f"{metadata.namespace}/{metadata.name}"

    @cached_property
    def index(self) -> PodIndex:
        """The index of each pod, by namespace and name."""
        return PodIndex(self.mark)

    @cached_property
    def by_controller(self) -> Mapping[tuple[str, str, str], Sequence[int]]:
        """The pods of each controller, ascending, by its kind, namespace and name."""
        found: dict[tuple[str, str, str], list[int]] = {}
        for index, record in enumerate(self.records):
            metadata = record.metadata
            owner = metadata.controller
            if owner is not None:
                found.setdefault((owner.kind, metadata.namespace, owner.name), []).append(index)
        return found

    def owner(self, index: int) -> OwnerReference | None:
        """Return the controller that owns the pod at an index, or ``None``."""
        return self.records[index].metadata.controller

    def classes_matching(self, selector: Selector) -> Mask:
        """Return the classes that a selector matches: bool, shape (n_classes,)."""
        return self.class_table.matching(selector, len(self.classes))

    def classes_in(self, namespaces: frozenset[str]) -> Mask:
        """Return the classes of pods in the given namespaces: bool, shape (n_classes,)."""
        return self.class_table.in_namespaces(namespaces, len(self.classes))

    def classes_having(self, value: Callable[[PodClass], V]) -> list[tuple[int, V]]:
        """Return the class ids and values of the classes with a true value; see ``PodClasses.having``."""
        return self.class_table.having(value, len(self.classes))

    @property
    def class_terminating(self) -> Mask:
        """The mask of classes of terminating pods: bool, shape (n_classes,). Do not modify."""
        return self.class_table.terminating(len(self.classes))

    @property
    def class_labelled(self) -> Mask:
        """The mask of classes with at least one label: bool, shape (n_classes,). Do not modify."""
        return self.class_table.labelled(len(self.classes))

    @property
    def nominated(self) -> PodIndices:
        """The pending pods that are nominated to an existing node, in the order of the snapshot: int64."""
        slots = self.moving("nominated", lambda pods: pods.slots[pods.nominated_row >= 0], _nominated_moved)
        return self.mark.indices_of(slots) if len(slots) else slots

    @property
    def selecting(self) -> PodIndices:
        """The pods with a ``nodeSelector``, in the order of the snapshot: int64."""
        slots = self.moving(
            "selecting", lambda pods: pods.mark.slots_of(_selecting(enumerate(pods.records))), _selecting_moved
        )
        return self.mark.indices_of(slots) if len(slots) else slots

    @property
    def starting(self) -> PodIndices:
        """The pods that have a node name and are in phase Pending, in the order of the snapshot: int64."""
        slots = self.moving(
            "starting", lambda pods: pods.mark.slots_of(_starting(enumerate(pods.records))), _starting_moved
        )
        return self.mark.indices_of(slots) if len(slots) else slots

    def nominated_to(self, indices: PodIndices) -> Rows:
        """Return the rows of the nominated nodes of some pods, given ascending."""
        return self.mark.slots.take("nominated_row", self.mark.slots_of(indices))

    @cached_property
    def _by_node(self) -> tuple[Slots, Int64Array, Moves]:
        """The slots by node and each node's offset, as of an earlier count, and the moves since."""
        (slots, offsets), moves = self._counted("by node", lambda pods: by_node(pods.mark, len(pods._nodes)))
        return slots, offsets, moves

    @property
    def assigned(self) -> PodIndices:
        """The indices of the pods on nodes of the snapshot, ordered by node: int64, shape (n_assigned,)."""
        slots, _, moves = self._by_node
        return self.mark.indices_of(by_node_moved(slots, moves))

    def by_importance(self, *, ties: VictimTies) -> PodIndices:
        """Return the pods on nodes by node, then by importance (upstream ``MoreImportantPod``).

        Pods with higher priority come first, then pods with an earlier start.

        Parameters
        ----------
        ties : VictimTies
            The order of pods of the same priority and start.

        Returns
        -------
        ndarray of int64, shape (n_assigned,)
        """
        slots = self.moving(
            ("by importance", ties),
            lambda pods: by_importance(pods.mark, ties=ties),
            partial(importance_moved, ties=ties),
        )
        return self.mark.indices_of(slots)

    def on_node(self, row: int) -> PodIndices:
        """Return the indices of the pods on a node, in the order of the snapshot."""
        slots, offsets, moves = self._by_node
        # Nodes that were added since have no offset.
        here = slots[offsets[row] : offsets[row + 1]] if row + 1 < len(offsets) else _NO_SLOTS
        if len(moves.gone):
            here = here[~np.isin(here, moves.gone)]
        if len(moves.come):
            here = np.concatenate((here, moves.come[moves.slots.take("node_row", moves.come) == row]))
        return self.mark.indices_of(here)

    @cached_property
    def _cells(self) -> tuple[Cells, Moves]:
        return self._counted("cells", lambda pods: Cells.of(pods.class_id, pods.node_row, len(pods.classes)))

    def _counted(self, key: Hashable, make: Callable[[Pods], V]) -> tuple[V, Moves]:
        """Return an earlier count and the moves since, at most 4096."""
        mark, counted = self.moving(
            ("counted", key),
            lambda pods: (pods.mark, make(pods)),
            lambda known, _: known if self._near(known[0]) else None,
        )
        moves = self.mark.moves_since(mark)
        assert moves is not None
        return counted, moves

    def _near(self, mark: Mark) -> bool:
        moves = self.mark.moves_since(mark)
        return moves is not None and len(moves) <= _MANY_MOVES

    def cells(self, class_ids: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Count the pods of some classes by class and node.

        Parameters
        ----------
        class_ids : ndarray of int64
            The classes, ascending.

        Returns
        -------
        classes, rows, counts : ndarray of int64
            Class, node row and number of pods; an entry per class and node with pods of that class.
        """
        counted, moves = self._cells
        known = counted.among(class_ids)
        if not len(moves):
            return known
        wanted = np.zeros(len(self.classes), dtype=np.bool_)
        wanted[class_ids] = True
        parts = [known]
        for slots, sign in moves.signed():
            classes = moves.slots.take("class_id", slots)
            slots, classes = slots[wanted[classes]], classes[wanted[classes]]
            parts.append((classes, moves.slots.take("node_row", slots), np.full(len(slots), sign, dtype=np.int64)))
        classes, rows, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        merged = Cells.of(classes, rows, len(self.classes), counts)
        return merged.classes, merged.rows, merged.counts

    def sum_per_node(self, per_class: Int64Array) -> Int64Array:
        """Sum a quantity of pod classes over the pods of each node.

        Parameters
        ----------
        per_class : ndarray of int64, shape (n_classes,)
            The contribution of a pod of each class.

        Returns
        -------
        ndarray of int64, shape (n_nodes,)
        """
        counted, moves = self._cells
        classes, rows, counts = counted.among(np.flatnonzero(per_class))
        out = np.zeros(len(self._nodes), dtype=np.int64)
        np.add.at(out, rows, counts * per_class[classes])
        for slots, sign in moves.signed():
            if len(slots):
                amounts = per_class[moves.slots.take("class_id", slots)]
                some = np.flatnonzero(amounts)
                rows = moves.slots.take("node_row", slots[some])
                here = rows >= 0
                np.add.at(out, rows[here], sign * amounts[some[here]])
        return out


def _nominated_moved(nominated: Slots, moves: Moves) -> Slots:
    return _moved(nominated, moves.gone, moves.come[moves.slots.take("nominated_row", moves.come) >= 0])


def _selecting_moved(selecting: Slots, moves: Moves) -> Slots:
    return _moved(selecting, moves.gone, _selecting((slot, moves.slots.record(slot)) for slot in moves.come.tolist()))


def _selecting(records: Iterable[tuple[int, PodRecord]]) -> Int64Array:
    return np.array([number for number, record in records if record.spec.node_selector], dtype=np.int64)


def _starting_moved(starting: Slots, moves: Moves) -> Slots:
    return _moved(starting, moves.gone, _starting((slot, moves.slots.record(slot)) for slot in moves.come.tolist()))


def _starting(records: Iterable[tuple[int, PodRecord]]) -> Int64Array:
    numbers = [number for number, record in records if record.status.phase == "Pending" and record.node_name]
    return np.array(numbers, dtype=np.int64)


def _moved(slots: Slots, gone: Slots, come: Slots) -> Slots:
    left = slots[~np.isin(slots, gone)] if len(slots) and len(gone) else slots
    return np.concatenate((left, come)) if len(come) else left
