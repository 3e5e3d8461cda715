"""Pods as columns, and pod classes: pods that mean the same to the scheduling of others.

A cluster of 150,000 pods has a few thousand classes. What a plugin asks of the pods on nodes it asks once per class
(does this selector match, what is requested, which ports are used) and then counts pods per class and node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

import numpy as np

from kschedctl.api.meta import Labels, ObjectMeta, OwnerReference
from kschedctl.api.pod import Pod, PodSpec, PodStatus
from kschedctl.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.cluster.labels import LabelColumns
from kschedctl.cluster.nodes import Nodes

#: Node rows of pods that are on no node, and of pods whose node is not in the snapshot.
PENDING = -1
LOST = -2
#: The start time of a pod that has not started, later than any.
NOT_STARTED = 2**63 - 1
#: Beyond this many pods that go, records are looked at one by one.
_MOST_PIECES: Final = 16

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PodClass:
    """Pods with the same namespace, labels, spec (as far as it matters to others) and reported resources.

    Attributes
    ----------
    pod : Pod
        A pod of the class without a name, defaulted.
    terminating : bool
        Whether the pods are being deleted.
    """

    pod: Pod
    terminating: bool

    @property
    def namespace(self) -> str:
        """The namespace of the pods."""
        return self.pod.metadata.namespace

    @property
    def labels(self) -> Labels:
        """The labels of the pods."""
        return self.pod.metadata.labels


@dataclass(frozen=True, slots=True)
class PodRecord:
    """One pod of the snapshot; what it shares with others is in its class and its spec."""

    metadata: ObjectMeta
    class_id: int
    spec: PodSpec
    node_name: str
    status: PodStatus


class Pods:
    """The pods of a cluster that have not finished, as columns.

    Attributes
    ----------
    records : tuple of PodRecord
        One per pod, in the order of the snapshot.
    classes : tuple of PodClass
        The distinct classes.
    class_id : ndarray of int64, shape (n_pods,)
        Index into ``classes``.
    node_row : ndarray of int64, shape (n_pods,)
        The row of the pod's node; ``PENDING`` without one, ``LOST`` where the snapshot does not have it.
    """

    def __init__(self, records: Sequence[PodRecord], classes: Sequence[PodClass], nodes: Nodes) -> None:
        self.records = tuple(records)
        self.classes = tuple(classes)
        self.class_id = np.array([record.class_id for record in self.records], dtype=np.int64)
        self.node_row = np.array([_row(record, nodes.row) for record in self.records], dtype=np.int64)
        self._node_rows = nodes.row
        self._n_nodes = len(nodes)

    def moved(self, removed: PodIndices, added: Sequence[PodRecord], classes: Sequence[PodClass]) -> Pods:
        """The pods with some gone and others there, behind the rest.

        What is kept in columns is carried along, so that it costs what changes and a copy.

        Parameters
        ----------
        removed : ndarray of int64
            Indices of pods, ascending, each once.
        added : sequence of PodRecord
            The new pods.
        classes : sequence of PodClass
            The classes that both refer to: those of the pods that there are, and maybe more.
        """
        new = object.__new__(Pods)
        new.records = (*_without(self.records, removed), *added)
        same_classes = len(classes) == len(self.classes)
        new.classes = self.classes if same_classes else tuple(classes)
        new._node_rows, new._n_nodes = self._node_rows, self._n_nodes
        new.class_id = _joined(self.class_id, removed, [record.class_id for record in added])
        new.node_row = _joined(self.node_row, removed, [_row(record, self._node_rows) for record in added])
        for name, value in _PER_POD.items():
            values = [value(record, self._node_rows) for record in added]
            new.__dict__[name] = _joined(getattr(self, name), removed, values)
        if same_classes:
            new.__dict__.update({name: self.__dict__[name] for name in _PER_CLASS if name in self.__dict__})
        return new

    def __len__(self) -> int:
        return len(self.records)

    def pod(self, index: int) -> Pod:
        """The pod at an index, defaulted; its node is in the record, as equal pods share their spec."""
        record = self.records[index]
        return Pod(metadata=record.metadata, spec=record.spec, status=record.status)

    def key(self, index: int) -> str:
        """``namespace/name`` of the pod at an index."""
        metadata = self.records[index].metadata
        return f"{metadata.namespace}/{metadata.name}"

    @cached_property
    def index(self) -> dict[tuple[str, str], int]:
        """The index of a namespace and name."""
        return {(r.metadata.namespace, r.metadata.name): i for i, r in enumerate(self.records)}

    @cached_property
    def class_labels(self) -> LabelColumns:
        """The labels of the classes, a column per key."""
        return LabelColumns([pod_class.labels for pod_class in self.classes])

    @cached_property
    def class_terminating(self) -> Mask:
        """Which classes are of pods being deleted: bool, shape (n_classes,)."""
        return np.array([pod_class.terminating for pod_class in self.classes], dtype=np.bool_)

    @cached_property
    def class_labelled(self) -> Mask:
        """Which classes have any label: bool, shape (n_classes,)."""
        return np.array([bool(pod_class.labels) for pod_class in self.classes], dtype=np.bool_)

    @cached_property
    def class_namespace(self) -> LabelColumns:
        """The namespaces of the classes, as the column of the empty key."""
        return LabelColumns([{"": pod_class.namespace} for pod_class in self.classes])

    def classes_in(self, namespaces: frozenset[str]) -> Mask:
        """Which classes are of pods in one of the namespaces: bool, shape (n_classes,)."""
        column = self.class_namespace[""]
        return np.array([name in namespaces for name in column.values], dtype=np.bool_)[column.codes]

    @cached_property
    def priority(self) -> Int64Array:
        """``spec.priority``, 0 where there is none: int64, shape (n_pods,)."""
        return np.array([_priority(record, self._node_rows) for record in self.records], dtype=np.int64)

    @cached_property
    def nominated_row(self) -> Rows:
        """The row of the node that a pending pod is nominated to, else ``PENDING``: int64, shape (n_pods,)."""
        return np.array([_nominated_row(record, self._node_rows) for record in self.records], dtype=np.int64)

    def owner(self, index: int) -> OwnerReference | None:
        """The controller that owns the pod at an index, if any."""
        return self.records[index].metadata.controller

    @cached_property
    def start_time(self) -> Int64Array:
        """``status.startTime`` in microseconds since 1970, ``NOT_STARTED`` without one: int64, shape (n_pods,)."""
        return np.array([_start_time(record, self._node_rows) for record in self.records], dtype=np.int64)

    @cached_property
    def assigned(self) -> PodIndices:
        """The indices of the pods on nodes of the snapshot, ordered by node: int64, shape (n_assigned,)."""
        assigned = np.flatnonzero(self.node_row >= 0)
        return assigned[np.argsort(self.node_row[assigned], kind="stable")]

    @cached_property
    def by_importance(self) -> PodIndices:
        """The pods on nodes by node, then by importance (upstream ``MoreImportantPod``): int64, shape (n_assigned,).

        Higher priority first, then the earlier start. A pod that has not started counts as starting now, each time
        anew, and so the later of two in the snapshot comes first; other ties stay in the order of the snapshot.
        """
        pods = self.assigned
        start = self.start_time[pods]
        tie = np.where(start == NOT_STARTED, -pods, pods)
        return pods[np.lexsort((tie, start, -self.priority[pods], self.node_row[pods]))]

    @cached_property
    def _offsets(self) -> Int64Array:
        """Where in ``assigned`` the pods of each node begin: int64, shape (n_nodes + 1,)."""
        return np.searchsorted(self.node_row[self.assigned], np.arange(self._n_nodes + 1))

    def on_node(self, row: int) -> PodIndices:
        """The indices of the pods on a node, in the order of the snapshot."""
        return self.assigned[self._offsets[row] : self._offsets[row + 1]]

    @cached_property
    def _cells(self) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        """Class and node of every pair that has pods, and how many; ordered by class, with each class's offset."""
        pairs = self.class_id[self.assigned] * self._n_nodes + self.node_row[self.assigned]
        distinct, counts = np.unique(pairs, return_counts=True)
        classes, rows = np.divmod(distinct, max(self._n_nodes, 1))
        offsets = np.searchsorted(classes, np.arange(len(self.classes) + 1))
        return classes, rows, counts.astype(np.int64), offsets

    def cells(self, class_ids: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Where the pods of some classes are.

        Parameters
        ----------
        class_ids : ndarray of int64
            The classes, ascending.

        Returns
        -------
        classes, rows, counts : ndarray of int64
            One entry per class and node that has pods of it: class, node row, number of pods.
        """
        classes, rows, counts, offsets = self._cells
        if len(class_ids) == len(self.classes):
            return classes, rows, counts
        lengths = offsets[class_ids + 1] - offsets[class_ids]
        starts = np.repeat(offsets[class_ids] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        at = starts + np.arange(len(starts))
        return classes[at], rows[at], counts[at]

    def sum_per_node(self, per_class: Int64Array) -> Int64Array:
        """Sum a quantity of pod classes over the pods of each node.

        Parameters
        ----------
        per_class : ndarray of int64, shape (n_classes,)
            What a pod of each class contributes.

        Returns
        -------
        ndarray of int64, shape (n_nodes,)
        """
        classes, rows, counts = self.cells(np.flatnonzero(per_class))
        out = np.zeros(self._n_nodes, dtype=np.int64)
        np.add.at(out, rows, counts * per_class[classes])
        return out


def _row(record: PodRecord, rows: Mapping[str, int]) -> int:
    """The row of a pod's node."""
    return rows.get(record.node_name, LOST) if record.node_name else PENDING


def _priority(record: PodRecord, rows: Mapping[str, int]) -> int:
    return record.spec.priority or 0


def _nominated_row(record: PodRecord, rows: Mapping[str, int]) -> int:
    return rows.get(record.status.nominated_node_name, PENDING) if not record.node_name else PENDING


def _start_time(record: PodRecord, rows: Mapping[str, int]) -> int:
    time = record.status.start_time
    if time is None:
        return NOT_STARTED
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


#: The columns that are made when they are asked for, with what they have of a pod; those of classes.
_PER_POD: Final = {"priority": _priority, "nominated_row": _nominated_row, "start_time": _start_time}
_PER_CLASS: Final = ("class_labels", "class_terminating", "class_labelled", "class_namespace")


def _without(records: tuple[PodRecord, ...], removed: PodIndices) -> tuple[PodRecord, ...]:
    """The records but for some: pieces are copied, which is much faster than one by one."""
    out: tuple[PodRecord, ...] = ()
    start = 0
    if len(removed) > _MOST_PIECES:
        gone = set(removed.tolist())
        return tuple(record for i, record in enumerate(records) if i not in gone)
    for index in removed.tolist():
        out += records[start:index]
        start = index + 1
    return out + records[start:]


def _joined(column: Int64Array, removed: PodIndices, added: Sequence[int] | Int64Array) -> Int64Array:
    return np.concatenate((np.delete(column, removed), np.asarray(added, dtype=np.int64)))
