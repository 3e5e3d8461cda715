"""Slots and classes of pods: append-only columns, shared by a cluster and the clusters derived from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import groupby, repeat
from typing import Final, TypeVar, cast

import msgspec
import numpy as np

from kschedctl.cluster.labels import LabelColumns
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.records import LOST, PENDING, PodClass, PodRecord
from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.objects.selectors import Selector

Slots = Int64Array
PodName = tuple[str, str]

#: The columns, in the order of the array of later pods (``PodSlots._columns``).
COLUMNS: Final = ("class_id", "node_row", "nominated_row", "priority", "start_time")
#: The maximum number of later pods that a fork keeps apart; if there are more, they are merged into the initial pods.
_LONG: Final = 16_384
#: The pods before a fork stay in memory with it: after so many forks, other nodes begin with slots of their own.
_MOST_FORKS: Final = 16
#: Looking through all pods for so many names takes as long as an index of the names.
_FEW_NAMES: Final = 4


class _First:
    """The initial pods. Immutable."""

    def __init__(self, records: Sequence[PodRecord], nodes: Nodes) -> None:
        self.records = tuple(records)
        self._rows = nodes.row
        self._looked_for: dict[PodName, int | None] = {}

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def class_id(self) -> Int64Array:
        return np.array([record.class_id for record in self.records], dtype=np.int64)

    @cached_property
    def node_row(self) -> Int64Array:
        rows = {**self._rows, "": PENDING}
        names = (record.node_name for record in self.records)
        return np.fromiter(map(rows.get, names, repeat(LOST)), dtype=np.int64, count=len(self.records))

    @cached_property
    def nominated_row(self) -> Int64Array:
        out = np.full(len(self.records), PENDING, dtype=np.int64)
        for slot in np.flatnonzero(self.node_row == PENDING).tolist():
            out[slot] = self.records[slot].nominated_row(self._rows)
        return out

    @cached_property
    def without_row(self) -> Slots:
        return _without_row(self.node_row, self.nominated_row)

    @cached_property
    def priority(self) -> Int64Array:
        return np.array([record.priority for record in self.records], dtype=np.int64)

    @cached_property
    def start_time(self) -> Int64Array:
        return np.array([record.start_time for record in self.records], dtype=np.int64)

    @cached_property
    def _last_slot(self) -> dict[str, int]:
        # Names without their namespaces are there already; of equal ones, the last counts.
        return {record.metadata.name: slot for slot, record in enumerate(self.records)}

    @cached_property
    def _earlier_slots(self) -> dict[PodName, int]:
        last = self._last_slot
        return {record.name: slot for slot, record in enumerate(self.records) if last[record.metadata.name] != slot}

    @property
    def is_indexed(self) -> bool:
        """True if the names of the pods are indexed."""
        return "_last_slot" in self.__dict__

    def index(self) -> None:
        """Index the names of the pods."""
        _ = self._last_slot

    def slot_of(self, name: PodName) -> int | None:
        """Return the last slot of the pod with a namespace and name; ``None`` if there is none."""
        if not self.is_indexed:
            if name not in self._looked_for and len(self._looked_for) < _FEW_NAMES:
                own = name[1]
                same = [slot for slot, record in enumerate(self.records) if record.metadata.name == own]
                self._looked_for[name] = max((slot for slot in same if self.records[slot].name == name), default=None)
            if name in self._looked_for:
                return self._looked_for[name]
        slot = self._last_slot.get(name[1])
        if slot is None or self.records[slot].name == name:
            return slot
        return self._earlier_slots.get(name)


class PodSlots:
    """The slots of initial pods and of pods added later."""

    def __init__(self, records: Sequence[PodRecord], nodes: Nodes) -> None:
        self._start(_First(records, nodes), nodes)

    def _start(self, first: _First, nodes: Nodes) -> None:
        self.nodes = nodes
        self._first = first
        self._later: list[PodRecord] = []
        self._columns = np.empty((len(COLUMNS), 16), dtype=np.int64)
        # A pod that was removed and added again has several slots; the last one before a list's end counts.
        self._later_slots: dict[PodName, tuple[int, ...]] = {}
        self._forked: tuple[PodSlots, int] | None = None
        self._n_forks = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._later)

    @property
    def n_first(self) -> int:
        """The number of initial pods."""
        return len(self._first)

    @property
    def first_records(self) -> Sequence[PodRecord]:
        """The records of the initial pods, which have the first slots."""
        return self._first.records

    def append(self, end: int, records: Sequence[PodRecord]) -> PodSlots:
        """Append pods after the first ``end`` slots.

        Returns: This instance, or a fork that shares its first ``end`` slots if it already has later ones.
        """
        slots = self if end == len(self) else self._fork(end)
        slots._extend(records)
        return slots

    def _extend(self, records: Sequence[PodRecord]) -> None:
        rows = self.nodes.row
        begin = len(self._later)
        while begin + len(records) > self._columns.shape[1]:
            self._columns = np.concatenate((self._columns, np.empty_like(self._columns)), axis=1)
        place = begin
        # Equal pods that follow each other may share their record.
        for _, run in groupby(records, key=id):
            record, *others = run
            end = place + 1 + len(others)
            self._columns[:, place] = (
                record.class_id,
                record.node_row(rows),
                record.nominated_row(rows),
                record.priority,
                record.start_time,
            )
            if others:
                self._columns[:, place + 1 : end] = self._columns[:, place : place + 1]
            last = len(self._first) + end - 1
            self._later_slots[record.name] = (*self._later_slots.get(record.name, ()), last)
            place = end
        self._later += records

    def _fork(self, end: int) -> PodSlots:
        later = self._later[: end - len(self._first)]
        slots = object.__new__(PodSlots)
        if len(later) > _LONG:
            first = _First((*self._first.records, *later), self.nodes)
            first.__dict__.update({name: self.column(name, 0, end) for name in COLUMNS})
            slots._start(first, self.nodes)
        else:
            slots._start(self._first, self.nodes)
            slots._later = later
            slots._columns = self._columns[:, : max(len(later), 16)].copy()
            for slot, record in enumerate(later, len(self._first)):
                slots._later_slots[record.name] = (*slots._later_slots.get(record.name, ()), slot)
        slots._forked, slots._n_forks = (self, end), self._n_forks + 1
        return slots

    def column(self, name: str, begin: int, end: int) -> Int64Array:
        """Return a column over a range of slots: int64, shape (end - begin,). Do not modify."""
        n_first = len(self._first)
        if end <= n_first:
            first: Int64Array = getattr(self._first, name)[begin:end]
            return first
        later = self._columns[COLUMNS.index(name), max(begin - n_first, 0) : end - n_first]
        return later if begin >= n_first else np.concatenate((getattr(self._first, name)[begin:], later))

    def take(self, name: str, slots: Slots) -> Int64Array:
        """Return a column's values at some slots, given ascending: int64, shape (n_slots,)."""
        n_first = len(self._first)
        split = int(np.searchsorted(slots, n_first))
        later = self._columns[COLUMNS.index(name)][slots[split:] - n_first]
        return later if not split else np.concatenate((getattr(self._first, name)[slots[:split]], later))

    def record(self, slot: int) -> PodRecord:
        n_first = len(self._first)
        return self._first.records[slot] if slot < n_first else self._later[slot - n_first]

    def records(self, end: int) -> Sequence[PodRecord]:
        """Return the records of the slots before ``end``."""
        n_first = len(self._first)
        if end <= n_first:
            return self._first.records[:end]
        return (*self._first.records, *self._later[: end - n_first])

    def without(self, empty: Slots, end: int) -> PodSlots:
        """Return new slots for the pods before ``end``, without the empty ones; slot numbers change."""
        gone = set(empty.tolist())
        first = _First([record for slot, record in enumerate(self.records(end)) if slot not in gone], self.nodes)
        # Copy only the columns already computed: priorities and start times are rarely needed.
        known = [name for name in COLUMNS if name in self._first.__dict__]
        first.__dict__.update((name, np.delete(self.column(name, 0, end), empty)) for name in known)
        if self._first.is_indexed:
            first.index()
        slots = object.__new__(PodSlots)
        slots._start(first, self.nodes)
        return slots

    def on(self, nodes: Nodes, end: int) -> PodSlots:
        """Return the slots before ``end`` over other nodes, with the node rows converted.

        Returns: A fork if no row changes: the nodes come after all others, and no pod waits for one of them.
        """
        if nodes.extends(self.nodes) and self._n_forks < _MOST_FORKS and not self._finds_row(nodes, end):
            slots = self._fork(end)
            slots.nodes = nodes
            return slots
        first = _First(self._first.records, nodes)
        first.__dict__.update(self._first.__dict__)
        # Other pods have no row on other nodes.
        first.__dict__.pop("without_row", None)
        n_first, n_later = len(first), end - len(first)
        first._rows = nodes.row
        first.node_row, first.nominated_row = _with_new_rows(
            first.records, self._first.node_row, self._first.nominated_row, self.nodes, nodes
        )
        slots = object.__new__(PodSlots)
        slots._start(first, nodes)
        slots._later = self._later[:n_later]
        slots._columns = self._columns.copy()
        at = [COLUMNS.index("node_row"), COLUMNS.index("nominated_row")]
        rows = self._columns[at, :n_later]
        slots._columns[at, :n_later] = _with_new_rows(slots._later, rows[0], rows[1], self.nodes, nodes)
        for slot, record in enumerate(slots._later, n_first):
            slots._later_slots[record.name] = (*slots._later_slots.get(record.name, ()), slot)
        return slots

    def _finds_row(self, nodes: Nodes, end: int) -> bool:
        """Report whether a pod before ``end`` without a row has one among other nodes."""
        n_first = len(self._first)
        later = self._columns[:, : end - n_first]
        more = _without_row(later[COLUMNS.index("node_row")], later[COLUMNS.index("nominated_row")]) + n_first
        records = map(self.record, (*self._first.without_row.tolist(), *more.tolist()))
        return any(record.node_row(nodes.row) >= 0 or record.nominated_row(nodes.row) >= 0 for record in records)

    def expect(self, n_names: int) -> None:
        """Prepare for a number of names to be looked up: many need an index of the initial pods."""
        if n_names > _FEW_NAMES:
            self._first.index()

    def slot_of(self, name: PodName, end: int) -> int | None:
        """Return the last slot before ``end`` of the pod with a namespace and name; ``None`` if there is none."""
        later = [slot for slot in self._later_slots.get(name, ()) if slot < end]
        return later[-1] if later else self._first.slot_of(name)

    def shared_with(self, other: PodSlots) -> int:
        """Return the number of slots shared with an instance that this one was forked from, even indirectly.

        Returns: -1 if it was not forked from it.
        """
        slots, end = self, len(self)
        while slots is not other:
            if slots._forked is None:
                return -1
            slots, at = slots._forked
            end = min(end, at)
        return end


def _without_row(node_row: Rows, nominated_row: Rows) -> Slots:
    """Return the slots of pods whose node does not exist, and of pods that are neither on a node nor nominated to one.

    A node that is added may be theirs.
    """
    return np.flatnonzero((node_row == LOST) | ((node_row == PENDING) & (nominated_row < 0)))


def _with_new_rows(
    records: Sequence[PodRecord], node_row: Rows, nominated_row: Rows, before: Nodes, after: Nodes
) -> tuple[Rows, Rows]:
    """Return node rows and nominated rows converted to other nodes.

    Pods without a row among the earlier nodes are looked up one by one.
    """
    if after.extends(before):
        out = [node_row.copy(), nominated_row.copy()]
    else:
        out = []
        at = [after.row.get(node, -1) for node in before.names]
        for rows, absent in ((node_row, LOST), (nominated_row, PENDING)):
            new_rows = np.array([*at, absent], dtype=np.int64)
            new_rows[new_rows < 0] = absent
            # Negative rows are clipped to -1, the index of the appended entry, so that indexing works without nodes.
            out.append(np.where(rows >= 0, new_rows[np.maximum(rows, PENDING)], rows))
    for index in np.flatnonzero(node_row == LOST).tolist():
        out[0][index] = records[index].node_row(after.row)
    for index in np.flatnonzero((node_row == PENDING) & (nominated_row < 0)).tolist():
        out[1][index] = records[index].nominated_row(after.row)
    return out[0], out[1]


class Mark(msgspec.Struct, frozen=True):
    """A list of pods: the first ``end`` slots, without the empty ones."""

    slots: PodSlots
    #: The number of slots.
    end: int
    #: The slots that are empty in this list, ascending.
    empty: Slots

    def __len__(self) -> int:
        return self.end - len(self.empty)

    def own_slots(self) -> Slots:
        """Return the slot of each pod: int64, shape (n_pods,), ascending."""
        slots = np.arange(self.end, dtype=np.int64)
        return np.delete(slots, self.empty) if len(self.empty) else slots

    def slot_of(self, index: int) -> int:
        """Return the slot of one pod."""
        empty = self.empty
        return index + bisect_right(range(len(empty)), index, key=lambda place: int(empty[place]) - place)

    def slots_of(self, indices: PodIndices) -> Slots:
        """Return the slots of some pods."""
        empty = self.empty
        if not len(empty):
            return indices
        slots: Slots = indices + np.searchsorted(empty - np.arange(len(empty)), indices, side="right")
        return slots

    def indices_of(self, slots: Slots) -> PodIndices:
        """Return the pods of some slots, none of which is empty."""
        empty = self.empty
        indices: PodIndices = slots - np.searchsorted(empty, slots) if len(empty) else slots
        return indices

    def column(self, name: str) -> Int64Array:
        """Return a column over the pods: int64, shape (n_pods,)."""
        column = self.slots.column(name, 0, self.end)
        return np.delete(column, self.empty) if len(self.empty) else column

    def moves_since(self, before: Mark) -> Moves | None:
        """Return the pods added and removed since an earlier list.

        Return ``None`` if this list was not derived from the earlier one, or pods of both have other node rows.
        """
        if self.slots is not before.slots and self.slots.shared_with(before.slots) < before.end:
            return None
        if self.end < before.end:
            return None
        gone = self.empty
        if gone is before.empty:
            gone = gone[:0]
        elif len(before.empty):
            # Both are ascending, which makes this much faster than a set difference.
            known = np.searchsorted(gone, before.empty)
            if known[-1] == len(gone) or (gone[known] != before.empty).any():
                return None
            gone = np.delete(gone, known)
        split = int(np.searchsorted(gone, before.end))
        come = np.arange(before.end, self.end, dtype=np.int64)
        if split < len(gone):
            come = np.delete(come, gone[split:] - before.end)
        return Moves(self.slots, gone[:split], come)


class Moves(msgspec.Struct, frozen=True):
    """The pods added and removed between two lists of pods."""

    #: The slots of the later list.
    slots: PodSlots
    #: The slots of the removed pods and of the added pods, ascending.
    gone: Slots
    come: Slots

    def __len__(self) -> int:
        return len(self.gone) + len(self.come)

    def signed(self) -> tuple[tuple[Slots, int], tuple[Slots, int]]:
        """Return the slots of removed pods with -1, and the slots of added pods with 1."""
        return (self.gone, -1), (self.come, 1)

    def on_nodes(self) -> MovedPods:
        """Return the pods that came to nodes or left them."""
        slots, n_gone = self.slots, len(self.gone)
        rows, classes = (
            np.concatenate((slots.take(name, self.gone), slots.take(name, self.come)))
            for name in ("node_row", "class_id")
        )
        changes = np.ones(len(rows), dtype=np.int64)
        changes[:n_gone] = -1
        here = rows >= 0
        return MovedPods(classes[here], rows[here], changes[here])


class MovedPods(msgspec.Struct, frozen=True):
    """Pods that came to nodes or left them."""

    #: The class of each pod, and the row of its node.
    class_id: Int64Array
    row: Int64Array
    #: 1 for a pod that came, -1 for one that left.
    change: Int64Array

    def per_domain(self, per_class: Int64Array, domains: Int64Array, n_domains: int) -> Int64Array:
        """Return the change of a sum over the pods of each topology domain.

        Args:
            per_class: The contribution of a pod of each class.
            domains: The domain of each node, -1 without one.

        Returns: int64, shape (n_domains + 1,); the last entry is for nodes without a domain.
        """
        out = np.zeros(n_domains + 1, dtype=np.int64)
        np.add.at(out, domains[self.row], self.change * per_class[self.class_id])
        return out


# The pod classes and cached results about them. Derived clusters share one list of classes, which only grows.

V = TypeVar("V")


class PodClasses:
    """All pod classes of a cluster and of the clusters derived from it.

    A ``Pods`` instance uses the first ``n_classes`` of them; every result is cut to that length.

    all: The classes. ``PodInterner`` appends new ones.
    """

    def __init__(self, classes: Iterable[PodClass]) -> None:
        self.all = list(classes)
        self._labels = LabelColumns([])
        self._namespaces = LabelColumns([])
        self._terminating = np.zeros(0, dtype=np.bool_)
        self._labelled = np.zeros(0, dtype=np.bool_)
        self._companions: dict[Callable[[PodClasses], object], object] = {}
        self._having: dict[Callable[[PodClass], object], tuple[list[tuple[int, object]], int]] = {}

    def _catch_up(self) -> None:
        new = self.all[len(self._labels) :]
        if new:
            self._labels.grow([pod_class.labels for pod_class in new])
            self._namespaces.grow([{"": pod_class.namespace} for pod_class in new])
            terminating = np.array([pod_class.terminating for pod_class in new], dtype=np.bool_)
            self._terminating = np.concatenate((self._terminating, terminating))
            labelled = np.array([bool(pod_class.labels) for pod_class in new], dtype=np.bool_)
            self._labelled = np.concatenate((self._labelled, labelled))

    def companion(self, kind: Callable[[PodClasses], V]) -> V:
        """Return an object that another package keeps in step with the classes, created on first use.

        Args:
            kind: The type to create from the classes; its instance must handle classes that are added later.
        """
        found = self._companions.get(kind)
        if found is None:
            found = self._companions[kind] = kind(self)
        return cast("V", found)

    def matching(self, selector: Selector, n_classes: int) -> Mask:
        """Return the classes that a selector matches: bool, shape (n_classes,)."""
        self._catch_up()
        return self._labels.matches(selector)[:n_classes]

    def labelled(self, n_classes: int) -> Mask:
        """Return the classes with at least one label: bool, shape (n_classes,). Do not modify."""
        self._catch_up()
        return self._labelled[:n_classes]

    def terminating(self, n_classes: int) -> Mask:
        """Return the classes of terminating pods: bool, shape (n_classes,). Do not modify."""
        self._catch_up()
        return self._terminating[:n_classes]

    def in_namespaces(self, namespaces: frozenset[str], n_classes: int) -> Mask:
        """Return the classes of pods in the given namespaces: bool, shape (n_classes,)."""
        self._catch_up()
        column = self._namespaces[""]
        codes = [code for name in namespaces if (code := column.code(name)) is not None]
        if len(codes) == 1:
            one: Mask = column.codes[:n_classes] == codes[0]
            return one
        return np.isin(column.codes[:n_classes], codes)

    def having(self, value: Callable[[PodClass], V], n_classes: int) -> list[tuple[int, V]]:
        """Return the class ids and values of the classes with a true value; the value of each class is computed once.

        Args:
            value: Computes the value of a class; false values are left out. Results are cached under this function
                object.
        """
        found, n_asked = self._having.get(value, ([], 0))
        if n_asked < len(self.all):
            for class_id in range(n_asked, len(self.all)):
                one = value(self.all[class_id])
                if one:
                    found.append((class_id, one))
            self._having[value] = found, len(self.all)
        known = cast("list[tuple[int, V]]", found)
        if known and known[-1][0] >= n_classes:
            return known[: bisect_left(known, n_classes, key=lambda pair: pair[0])]
        return known
