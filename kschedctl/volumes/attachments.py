"""Which volumes are attached to which nodes, as columns: by the pods there, and by VolumeAttachments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.storage import CSINode, StorageClass, VolumeAttachment
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PodClass
from kschedctl.volumes.attachable_volumes import Attachable, Needs, Unattachable, attachable_volumes, counts_volumes
from kschedctl.volumes.csi_nodes import CSINodes
from kschedctl.volumes.migration import PORTWORX
from kschedctl.volumes.pod_claims import named_after

#: In the column ``pod`` of an attachment that a VolumeAttachment tells of.
NO_POD = -1


@dataclass(frozen=True, slots=True)
class AttachedVolumes:
    """Which of some volumes are attached in which worlds: a sparse matrix, a row per world and a column per volume.

    Attributes
    ----------
    n_worlds : int
        How many worlds there are.
    numbers : ndarray of int64, shape (n_volumes,)
        The volumes by their numbers in ``Attachments``, ascending.
    cells : ndarray of int64
        ``world * n_volumes + column`` where a volume is attached, ascending, each once.
    """

    n_worlds: int
    numbers: Int64Array
    cells: Int64Array

    def __or__(self, other: AttachedVolumes) -> AttachedVolumes:
        """What is attached in one or the other; both are of the same worlds and volumes."""
        return AttachedVolumes(self.n_worlds, self.numbers, np.union1d(self.cells, other.cells))

    def holds(self, number: int) -> Mask:
        """In which worlds a volume is attached; it must be one of ``numbers``: bool, shape (n_worlds,)."""
        column = int(np.searchsorted(self.numbers, number))
        return np.isin(np.arange(self.n_worlds) * len(self.numbers) + column, self.cells)

    def count(self, group: Int64Array, n_groups: int) -> Int64Array:
        """How many volumes of each group are attached.

        Parameters
        ----------
        group : ndarray of int64, shape (n_volumes,)
            The group of each column.
        n_groups : int
            How many groups there are.

        Returns
        -------
        ndarray of int64, shape (n_groups, n_worlds)
        """
        counts = np.zeros((n_groups, self.n_worlds), dtype=np.int64)
        worlds, columns = self._places()
        np.add.at(counts, (group[columns], worlds), 1)
        return counts

    def first(self) -> Int64Array:
        """The volume with the lowest number in each world, -1 without any: int64, shape (n_worlds,)."""
        first = np.full(self.n_worlds, -1, dtype=np.int64)
        worlds, columns = self._places()
        first[worlds[::-1]] = self.numbers[columns[::-1]]
        return first

    def _places(self) -> tuple[Int64Array, Int64Array]:
        return np.divmod(self.cells, max(len(self.numbers), 1))


class _Volumes:
    """The volumes that were ever met, by number; they are only added, so that tables of other pods can share them."""

    def __init__(self) -> None:
        self.number: dict[tuple[str, str], int] = {}
        self.problems: list[str] = []
        self.drivers = LabelColumn.of(())

    def numbered(self, volume: Attachable | Unattachable) -> int:
        """The number of a volume; one that cannot be counted gets one of its own each time."""
        if isinstance(volume, Attachable):
            return self.identified(volume.identity)
        self.problems.append(volume.problem)
        return len(self.problems) - 1

    def identified(self, identity: tuple[str, str]) -> int:
        """The number of the volume of a driver and handle."""
        number = self.number.get(identity)
        if number is None:
            number = self.number[identity] = len(self.problems)
            self.problems.append("")
        return number

    def settle(self) -> None:
        """Take the new volumes into the column of drivers."""
        begin = len(self.drivers.codes)
        drivers: list[str | None] = [None] * (len(self.problems) - begin)
        # Numbers are given in the order of the dictionary.
        for (driver, _), number in reversed(self.number.items()):
            if number < begin:
                break
            drivers[number - begin] = driver
        self.drivers.grow(drivers)


class Attachments:
    """The incidence table of attachments: a row says that a volume is attached to a node, and by which pod.

    The rows are first those of VolumeAttachments, then a row per pod and volume it uses, in the order of the pods; pods
    without a node have theirs as well, because a world may put them on one. The columns are ``pod``, ``node``,
    ``volume`` and ``needs``. Volumes have a number each, the same wherever they are attached: that of their driver and
    handle. One that cannot be counted has a number for that row alone, and a problem.

    Parameters
    ----------
    portworx_needs_annotation : bool
        Whether Portworx volumes count only where the CSINode lists their plugin as migrated.

    Attributes
    ----------
    kinds : frozenset of type
        The kinds of objects that the table is made of, besides nodes and pods.
    pod : ndarray of int64, shape (n_attachments,)
        The slot of the pod, ascending; ``NO_POD`` of a VolumeAttachment.
    node : ndarray of int64, shape (n_attachments,)
        The row of the node; negative for a pod that is on none.
    volume : ndarray of int64, shape (n_attachments,)
        The number of the volume.
    needs : ndarray of int64, shape (n_attachments,)
        On which nodes it counts, as in ``Needs``.
    csi_nodes : CSINodes
        How many volumes the nodes take.
    level : ndarray of int64, shape (n_nodes,)
        What each node has, as in ``Needs``.
    """

    kinds: ClassVar[frozenset[type[ApiObject]]] = frozenset(
        {PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, VolumeAttachment}
    )

    def __init__(self, cluster: Cluster, *, portworx_needs_annotation: bool) -> None:
        self._cluster = cluster
        self._portworx_needs_annotation = portworx_needs_annotation
        self.csi_nodes = CSINodes.of(cluster)
        portworx = self.csi_nodes.migrated(PORTWORX) | (not portworx_needs_annotation)
        level = np.where(portworx, Needs.MIGRATED_PORTWORX, Needs.CSI_NODE)
        self.level: Int64Array = np.where(self.csi_nodes.present, level, Needs.NOTHING).astype(np.int64)
        self._volumes = _Volumes()
        rows = self._rows_of(cluster.pods.slots)
        objects = [
            (NO_POD, node, self._volumes.identified(identity), int(Needs.NOTHING))
            for node, identity in self._volume_attachments()
        ]
        self._volumes.settle()
        self._set(np.array([*objects, *rows], dtype=np.int64).reshape(-1, 4))
        self._latest = self

    def _set(self, table: Int64Array) -> None:
        self.pod, self.node, self.volume, self.needs = (np.ascontiguousarray(column) for column in table.T)

    @classmethod
    def of(cls, cluster: Cluster, *, portworx_needs_annotation: bool) -> Attachments:
        """Those of a cluster; what is known of a cluster that it was derived from is moved."""

        def make() -> Attachments:
            return cls(cluster, portworx_needs_annotation=portworx_needs_annotation)

        first = cluster.derived(cls, portworx_needs_annotation, make, of=cls.kinds)
        moved = first._latest._moved(cluster) or first._moved(cluster) or make()
        first._latest = moved
        return moved

    def _moved(self, cluster: Cluster) -> Attachments | None:
        """The table once some pods are gone and others there; ``None`` where these were not derived."""
        if self._cluster is cluster:
            return self
        moves = cluster.pods.mark.moves_since(self._cluster.pods.mark)
        if moves is None:
            return None
        new = object.__new__(Attachments)
        new.__dict__.update(self.__dict__)
        new._cluster = cluster
        rows = new._rows_of(moves.come)
        gone = np.isin(self.pod, moves.gone) if len(moves.gone) else np.zeros(0, dtype=np.bool_)
        if rows or gone.any():
            table = np.stack((self.pod, self.node, self.volume, self.needs), axis=1)
            self._volumes.settle()
            kept = table[~gone] if len(gone) else table
            new._set(np.concatenate((kept, np.array(rows, dtype=np.int64).reshape(-1, 4))))
        return new

    @property
    def number(self) -> Mapping[tuple[str, str], int]:
        """The number of every volume that can be counted, by driver and handle."""
        return self._volumes.number

    @property
    def problems(self) -> Sequence[str]:
        """Per number why the volume cannot be counted; empty where it can."""
        return self._volumes.problems

    def _rows_of(self, slots: Int64Array) -> list[tuple[int, int, int, int]]:
        """The rows of the pods in some slots. Pods of a class have the same volumes, unless named after the pod."""
        pods = self._cluster.pods
        counting = dict(pods.classes_having(_counted_volumes))
        if not counting:
            return []
        of_slots = pods.mark.slots
        class_id = of_slots.take("class_id", slots)
        here = np.isin(class_id, list(counting))
        slots, class_id = slots[here], class_id[here]
        by_class: dict[int, list[Attachable | Unattachable]] = {}
        rows = []
        nodes = of_slots.take("node_row", slots)
        for slot, own_class, node in zip(slots.tolist(), class_id.tolist(), nodes.tolist(), strict=True):
            volumes = by_class.get(own_class)
            if volumes is None:
                record = of_slots.record(slot)
                pod = Pod(metadata=record.metadata, spec=record.spec, status=record.status)
                volumes = attachable_volumes(self._cluster, pod, new=False)
                if named_after(pod) is None:
                    by_class[own_class] = volumes
            rows += [(slot, node, self._volumes.numbered(volume), int(volume.needs)) for volume in volumes]
        return rows

    def _volume_attachments(self) -> Iterable[tuple[int, tuple[str, str]]]:
        """Node row, and driver and handle, of every VolumeAttachment of a CSI volume."""
        for attachment in self._cluster.list(VolumeAttachment):
            spec = attachment.spec
            row = self._cluster.nodes.row.get(spec.node_name)
            volume = self._cluster.get(PersistentVolume, spec.source.persistent_volume_name)
            if row is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
                yield row, (spec.attacher, volume.spec.csi.volume_handle)

    def of_drivers(self, drivers: tuple[str, ...]) -> tuple[Int64Array, Int64Array]:
        """The volumes of some drivers.

        Returns
        -------
        numbers, drivers : ndarray of int64
            Their numbers, ascending, and for each the index into ``drivers``.
        """
        wanted = {driver: i for i, driver in enumerate(drivers)}
        # The last entry is what code -1 picks, for volumes that cannot be counted.
        column = self._volumes.drivers
        index = np.array([*(wanted.get(driver, -1) for driver in column.values), -1], dtype=np.int64)
        of_volume = index[column.codes]
        numbers = np.flatnonzero(of_volume >= 0)
        return numbers, of_volume[numbers]

    def by_pods(self, nodes: Overlay, numbers: Int64Array) -> AttachedVolumes:
        """Which of some volumes, by ascending numbers, the pods of each world use."""
        worlds, rows, signs = self._in_worlds(nodes)
        column = self._columns(numbers)[self.volume[rows]]
        counted = (column >= 0) & (self.needs[rows] <= self.level[nodes.rows[worlds]])
        distinct, inverse = np.unique(worlds[counted] * len(numbers) + column[counted], return_inverse=True)
        references = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(references, inverse, signs[counted])
        return AttachedVolumes(len(nodes), numbers, distinct[references > 0])

    def by_objects(self, nodes: Overlay, numbers: Int64Array) -> AttachedVolumes:
        """Of which of some volumes, by ascending numbers, VolumeAttachments tell. They do not change with the pods."""
        end = self._n_objects
        worlds, column = self._world_of_row(nodes)[self.node[:end]], self._columns(numbers)[self.volume[:end]]
        counted = (worlds >= 0) & (column >= 0)
        return AttachedVolumes(len(nodes), numbers, np.unique(worlds[counted] * len(numbers) + column[counted]))

    def problem_in_worlds(self, nodes: Overlay) -> Int64Array:
        """The first volume of each world's pods that has a problem, or -1: int64, shape (n_worlds,)."""
        broken = np.flatnonzero([bool(problem) for problem in self.problems])
        if not len(broken):
            return np.full(len(nodes), -1, dtype=np.int64)
        return self.by_pods(nodes, broken).first()

    @property
    def _n_objects(self) -> int:
        return int(np.searchsorted(self.pod, NO_POD, "right"))

    def _columns(self, numbers: Int64Array) -> Int64Array:
        """Per volume its place in ``numbers``; -1 where it has none."""
        columns = np.full(len(self.problems), -1, dtype=np.int64)
        columns[numbers] = np.arange(len(numbers))
        return columns

    def _world_of_row(self, nodes: Overlay) -> Int64Array:
        """Per node its world; -1 where it has none, also in the last entry, which row -1 picks."""
        worlds = np.full(len(self._cluster.nodes) + 1, -1, dtype=np.int64)
        worlds[nodes.rows] = np.arange(len(nodes))
        return worlds

    def _in_worlds(self, nodes: Overlay) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The rows of pods in every world.

        Returns
        -------
        worlds, rows, signs : ndarray of int64
            The world, the row of the table, and 1 or, for a pod that was removed, -1.
        """
        worlds = self._world_of_row(nodes)[np.maximum(self.node, -1)]
        worlds[: self._n_objects] = -1
        here = np.flatnonzero(worlds >= 0)
        parts = [(worlds[here], here, np.ones(len(here), dtype=np.int64))]
        for changed, pods, sign in nodes.changes():
            slots = nodes.pods.mark.slots_of(pods)
            first, last = np.searchsorted(self.pod, slots, "left"), np.searchsorted(self.pod, slots, "right")
            lengths = last - first
            starts = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
            rows = starts + np.arange(len(starts))
            parts.append((np.repeat(changed, lengths), rows, np.full(len(rows), sign, dtype=np.int64)))
        first_part, *others = parts
        if not others:
            return first_part
        worlds, rows, signs = (np.concatenate(column) for column in zip(*parts, strict=True))
        return worlds, rows, signs


def _counted_volumes(pod_class: PodClass) -> bool:
    return counts_volumes(pod_class.pod)
