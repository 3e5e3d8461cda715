"""Which CSI volumes are attached to which nodes: the pods there, their volumes, and VolumeAttachments, as columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kschedctl.api.storage import CSINode, VolumeAttachment
from kschedctl.api.volume import PersistentVolume
from kschedctl.arrays import Int64Array
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.overlay import Overlay
from kschedctl.volumes.attachable import Attachable, Needs, Unattachable, attachable_volumes, counts_volumes
from kschedctl.volumes.migration import PORTWORX, migrated_plugins

Identity = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Uses:
    """Volumes of pods in a flat table, a row per pod and volume, ordered by pod.

    Attributes
    ----------
    pod : ndarray of int64, shape (n_uses,)
        The index of the pod.
    volume : ndarray of int64, shape (n_uses,)
        The number of the volume.
    needs : ndarray of int64, shape (n_uses,)
        On which nodes it counts, as in ``Needs``.
    """

    pod: Int64Array
    volume: Int64Array
    needs: Int64Array

    def in_worlds(self, cluster: Cluster, nodes: Overlay) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Every use in every world.

        Returns
        -------
        worlds, uses, signs : ndarray of int64
            The world, the row of the table, and 1 or, for a pod that was removed, -1.
        """
        world_of_row = np.full(len(cluster.nodes) + 1, -1, dtype=np.int64)
        world_of_row[nodes.rows] = np.arange(len(nodes))
        rows = cluster.pods.node_row[self.pod]
        worlds = world_of_row[np.where(rows >= 0, rows, -1)]
        here = np.flatnonzero(worlds >= 0)
        parts = [(worlds[here], here, np.ones(len(here), dtype=np.int64))]
        for changed, pods, sign in nodes.changes():
            first, last = np.searchsorted(self.pod, pods, "left"), np.searchsorted(self.pod, pods, "right")
            lengths = last - first
            starts = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
            uses = starts + np.arange(len(starts))
            parts.append((np.repeat(changed, lengths), uses, np.full(len(uses), sign, dtype=np.int64)))
        first_part, *others = parts
        if not others:
            return first_part
        worlds, uses, signs = (np.concatenate(column) for column in zip(*parts, strict=True))
        return worlds, uses, signs


class Attachments:
    """The attached volumes of a cluster.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    portworx_needs_annotation : bool
        Whether Portworx volumes count only where the CSINode lists their plugin as migrated.

    Attributes
    ----------
    level : ndarray of int64, shape (n_nodes,)
        What each node has, as in ``Needs``.
    any_limit : ndarray of bool, shape (n_nodes,)
        Which nodes have a limit for some driver.
    number : dict of (str, str) to int
        The number of every volume, by driver and handle.
    uses : Uses
        The volumes of all pods.
    broken : Uses
        The volumes of pods that cannot be counted; their numbers index ``problems``.
    problems : tuple of str
        Why.
    """

    def __init__(self, cluster: Cluster, *, portworx_needs_annotation: bool) -> None:
        self._cluster = cluster
        self.level = np.zeros(len(cluster.nodes), dtype=np.int64)
        self.any_limit = np.zeros(len(cluster.nodes), dtype=np.bool_)
        self._limits: dict[str, Int64Array] = {}
        for csi_node in cluster.list(CSINode):
            row = cluster.nodes.row.get(csi_node.name)
            if row is not None:
                self._read_csi_node(csi_node, row, portworx_needs_annotation=portworx_needs_annotation)
        self.number: dict[Identity, int] = {}
        problems: list[str] = []
        uses: list[tuple[int, int, int]] = []
        broken: list[tuple[int, int, int]] = []
        for index, volumes in self._volumes_of_pods():
            for volume in volumes:
                if isinstance(volume, Attachable):
                    number = self.number.setdefault(volume.identity, len(self.number))
                    uses.append((index, number, volume.needs))
                else:
                    broken.append((index, len(problems), volume.needs))
                    problems.append(volume.problem)
        self.uses = _table(uses)
        self.broken = _table(broken)
        self.problems = tuple(problems)
        self._attached_rows, self._attached_volumes = self._volume_attachments()
        self._drivers = LabelColumn.of([driver for driver, _ in self.number])

    def of_drivers(self, drivers: tuple[str, ...]) -> tuple[Int64Array, Int64Array]:
        """The volumes of some drivers.

        Returns
        -------
        numbers, drivers : ndarray of int64
            Their numbers, ascending, and for each the index into ``drivers``.
        """
        wanted = {driver: i for i, driver in enumerate(drivers)}
        index = np.array([wanted.get(driver, -1) for driver in self._drivers.values], dtype=np.int64)
        of_volume = index[self._drivers.codes]
        numbers = np.flatnonzero(of_volume >= 0)
        return numbers, of_volume[numbers]

    def limit(self, driver: str) -> Int64Array:
        """How many volumes of a driver each node takes; -1 without a limit: int64, shape (n_nodes,)."""
        found = self._limits.get(driver)
        return np.full(len(self._cluster.nodes), -1, dtype=np.int64) if found is None else found

    def _read_csi_node(self, csi_node: CSINode, row: int, *, portworx_needs_annotation: bool) -> None:
        portworx = not portworx_needs_annotation or PORTWORX.name in migrated_plugins(csi_node)
        self.level[row] = Needs.MIGRATED_PORTWORX if portworx else Needs.CSI_NODE
        for driver in csi_node.spec.drivers:
            if driver.allocatable is not None and driver.allocatable.count is not None:
                limits = self._limits.get(driver.name)
                if limits is None:
                    limits = self._limits[driver.name] = np.full(len(self.level), -1, dtype=np.int64)
                limits[row] = driver.allocatable.count
                self.any_limit[row] = True

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

    def _volume_attachments(self) -> tuple[Int64Array, Int64Array]:
        """Node row and volume number of every VolumeAttachment of a CSI volume."""
        rows = []
        volumes = []
        for attachment in self._cluster.list(VolumeAttachment):
            spec = attachment.spec
            row = self._cluster.nodes.row.get(spec.node_name)
            volume = self._cluster.get(PersistentVolume, spec.source.persistent_volume_name)
            if row is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
                rows.append(row)
                identity = spec.attacher, volume.spec.csi.volume_handle
                volumes.append(self.number.setdefault(identity, len(self.number)))
        return np.array(rows, dtype=np.int64), np.array(volumes, dtype=np.int64)

    def by_pods(self, nodes: Overlay, numbers: Int64Array) -> Int64Array:
        """Which of some volumes the pods of each world use.

        Parameters
        ----------
        nodes : Overlay
            The worlds.
        numbers : ndarray of int64
            Volume numbers, ascending.

        Returns
        -------
        ndarray of int64
            ``world * len(numbers) + position`` of every volume in use, ascending, each once.
        """
        worlds, uses, signs = self.uses.in_worlds(self._cluster, nodes)
        position = np.full(len(self.number), -1, dtype=np.int64)
        position[numbers] = np.arange(len(numbers))
        at = position[self.uses.volume[uses]]
        counted = (at >= 0) & (self.uses.needs[uses] <= self.level[nodes.rows[worlds]])
        cells = worlds[counted] * len(numbers) + at[counted]
        distinct, inverse = np.unique(cells, return_inverse=True)
        references = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(references, inverse, signs[counted])
        in_use: Int64Array = distinct[references > 0]
        return in_use

    def attached(self, nodes: Overlay, numbers: Int64Array) -> Int64Array:
        """As ``by_pods``, for VolumeAttachments. They do not change with the pods."""
        world_of_row = np.full(len(self._cluster.nodes), -1, dtype=np.int64)
        world_of_row[nodes.rows] = np.arange(len(nodes))
        position = np.full(len(self.number), -1, dtype=np.int64)
        position[numbers] = np.arange(len(numbers))
        worlds, at = world_of_row[self._attached_rows], position[self._attached_volumes]
        counted = (worlds >= 0) & (at >= 0)
        cells: Int64Array = np.unique(worlds[counted] * len(numbers) + at[counted])
        return cells

    def problem_in_worlds(self, nodes: Overlay) -> Int64Array:
        """The first problem of a pod of each world, as index into ``problems``, or -1: int64, shape (n_worlds,)."""
        first = np.full(len(nodes), -1, dtype=np.int64)
        if not self.problems:
            return first
        worlds, uses, signs = self.broken.in_worlds(self._cluster, nodes)
        counted = self.broken.needs[uses] <= self.level[nodes.rows[worlds]]
        cells = worlds[counted] * len(self.problems) + self.broken.volume[uses[counted]]
        distinct, inverse = np.unique(cells, return_inverse=True)
        references = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(references, inverse, signs[counted])
        worlds, problems = np.divmod(distinct[references > 0], len(self.problems))
        first[worlds[::-1]] = problems[::-1]
        return first


def _table(uses: list[tuple[int, int, int]]) -> Uses:
    columns = np.array(uses, dtype=np.int64).reshape(-1, 3)
    return Uses(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy())


def share(cells: Int64Array, n_positions: int, group: Int64Array, n_worlds: int, n_groups: int) -> Int64Array:
    """Count cells by world and group.

    Parameters
    ----------
    cells : ndarray of int64
        ``world * n_positions + position``, each once.
    n_positions : int
        How many positions there are.
    group : ndarray of int64, shape (n_positions,)
        The group of each position.
    n_worlds, n_groups : int
        The shape of the answer.

    Returns
    -------
    ndarray of int64, shape (n_groups, n_worlds)
    """
    counts = np.zeros((n_groups, n_worlds), dtype=np.int64)
    worlds, at = np.divmod(cells, max(n_positions, 1))
    np.add.at(counts, (group[at], worlds), 1)
    return counts
