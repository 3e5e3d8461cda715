"""Which volumes are attached to which nodes, as columns: by the pods there, and by VolumeAttachments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kschedctl.api.storage import VolumeAttachment
from kschedctl.api.volume import PersistentVolume
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.overlay import Overlay
from kschedctl.volumes.attachable import Attachable, Needs, Unattachable, attachable_volumes, counts_volumes
from kschedctl.volumes.csi_nodes import CSINodes
from kschedctl.volumes.migration import PORTWORX

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
    pod : ndarray of int64, shape (n_attachments,)
        The index of the pod, ascending; ``NO_POD`` of a VolumeAttachment.
    node : ndarray of int64, shape (n_attachments,)
        The row of the node; negative for a pod that is on none.
    volume : ndarray of int64, shape (n_attachments,)
        The number of the volume.
    needs : ndarray of int64, shape (n_attachments,)
        On which nodes it counts, as in ``Needs``.
    number : dict of (str, str) to int
        The number of every volume that can be counted, by driver and handle.
    problems : tuple of str, length n_volumes
        Per number why the volume cannot be counted; empty where it can.
    csi_nodes : CSINodes
        How many volumes the nodes take.
    level : ndarray of int64, shape (n_nodes,)
        What each node has, as in ``Needs``.
    """

    def __init__(self, cluster: Cluster, *, portworx_needs_annotation: bool) -> None:
        self._cluster = cluster
        self.csi_nodes = CSINodes(cluster)
        portworx = self.csi_nodes.migrated(PORTWORX) | (not portworx_needs_annotation)
        level = np.where(portworx, Needs.MIGRATED_PORTWORX, Needs.CSI_NODE)
        self.level: Int64Array = np.where(self.csi_nodes.present, level, Needs.NOTHING).astype(np.int64)
        self.number: dict[tuple[str, str], int] = {}
        problems: list[str] = []

        def numbered(identity: tuple[str, str]) -> int:
            number = self.number.get(identity)
            if number is None:
                number = self.number[identity] = len(problems)
                problems.append("")
            return number

        rows: list[tuple[int, int, int, int]] = []
        for index, volumes in self._volumes_of_pods():
            node = int(cluster.pods.node_row[index])
            for volume in volumes:
                if isinstance(volume, Attachable):
                    number = numbered(volume.identity)
                else:
                    number = len(problems)
                    problems.append(volume.problem)
                rows.append((index, node, number, volume.needs))
        objects = [
            (NO_POD, node, numbered(identity), int(Needs.NOTHING)) for node, identity in self._volume_attachments()
        ]
        table = np.array([*objects, *rows], dtype=np.int64).reshape(-1, 4)
        self.pod, self.node, self.volume, self.needs = (np.ascontiguousarray(column) for column in table.T)
        self.problems = tuple(problems)
        self._broken = np.flatnonzero([bool(problem) for problem in problems])
        drivers: list[str | None] = [None] * len(problems)
        for (driver, _), number in self.number.items():
            drivers[number] = driver
        self._drivers = LabelColumn.of(drivers)

    def _volumes_of_pods(self) -> Iterable[tuple[int, list[Attachable | Unattachable]]]:
        """The volumes of each pod that has any, in the order of the pods.

        Pods of a class have the same volumes, unless these are named after the pod.
        """
        pods = self._cluster.pods
        counting = np.array([counts_volumes(pod_class.pod) for pod_class in pods.classes], dtype=np.bool_)
        by_class: dict[int, list[Attachable | Unattachable]] = {}
        for index in np.flatnonzero(counting[pods.class_id]).tolist():
            class_id = int(pods.class_id[index])
            volumes = by_class.get(class_id)
            if volumes is None:
                named_after_pod = any(v.ephemeral is not None for v in pods.classes[class_id].pod.spec.volumes)
                volumes = attachable_volumes(self._cluster, pods.pod(index), new=False)
                if not named_after_pod:
                    by_class[class_id] = volumes
            yield index, volumes

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
        index = np.array([*(wanted.get(driver, -1) for driver in self._drivers.values), -1], dtype=np.int64)
        of_volume = index[self._drivers.codes]
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
        if not len(self._broken):
            return np.full(len(nodes), -1, dtype=np.int64)
        return self.by_pods(nodes, self._broken).first()

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
            first, last = np.searchsorted(self.pod, pods, "left"), np.searchsorted(self.pod, pods, "right")
            lengths = last - first
            starts = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
            rows = starts + np.arange(len(starts))
            parts.append((np.repeat(changed, lengths), rows, np.full(len(rows), sign, dtype=np.int64)))
        first_part, *others = parts
        if not others:
            return first_part
        worlds, rows, signs = (np.concatenate(column) for column in zip(*parts, strict=True))
        return worlds, rows, signs
