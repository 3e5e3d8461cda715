"""The volumes attached to each node, as columns, from pods and from VolumeAttachments."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import ClassVar

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PodClass
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    Volume,
    VolumeAttachment,
)
from kschedctl.scheduler.volumes.claims import (
    NO_CLAIM_NAME,
    claim_key,
    claim_not_found,
    claim_use,
    ephemeral_claim_owner,
    not_owned,
    storage_class_of,
    volume_of,
)
from kschedctl.scheduler.volumes.csi_nodes import (
    PLUGINS_BY_NAME,
    PORTWORX,
    CSINodes,
    InTreePlugin,
    MigrationError,
    in_tree_plugin,
    inline_handle,
    volume_handle,
)

# The CSI volumes of pods that NodeVolumeLimits counts as attached to a node (``filterAttachableVolumes``).


class Needs(IntEnum):
    """The properties a node must have for a volume to count there; each level includes those below it."""

    NOTHING = 0
    CSI_NODE = 1
    MIGRATED_PORTWORX = 2


class Attachable(msgspec.Struct, frozen=True):
    """A CSI volume that counts against a node's limit."""

    #: The CSI driver, and the volume's handle; a claim without a volume has a unique handle.
    driver: str
    handle: str
    #: The properties a node must have for the volume to count there.
    needs: Needs
    #: The key of the claim, ``namespace/name``; empty for a disk that the pod names directly.
    claim: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """The driver and handle, by which volumes are distinguished."""
        return self.driver, self.handle


class Unattachable(msgspec.Struct, frozen=True):
    """A volume that cannot be counted."""

    #: The reason why it cannot be counted.
    problem: str
    #: The properties a node must have for the problem to matter there.
    needs: Needs
    #: True if the claim does not exist, which rejects the pod; every other problem is an error.
    missing: bool = False


def counts_volumes(pod: Pod) -> bool:
    """Report whether a pod has any volume that a CSI driver could attach."""
    return any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_plugin(volume) is not None
        for volume in pod.spec.volumes
    )


def attachable_volumes(cluster: Cluster, pod: Pod, *, new: bool) -> list[Attachable | Unattachable]:
    """Return the volumes of a pod that count against limits, in the pod's order.

    Args:
        pod: The pod, with its name and uid if it has ephemeral volumes.
        new: True for the pod to be scheduled; for other pods, claims that do not exist are not counted. Claims that
            could not be listed never are.
    """
    found = (_attachable(cluster, pod, volume, new=new) for volume in pod.spec.volumes)
    return [volume for volume in found if volume is not None]


def _attachable(cluster: Cluster, pod: Pod, volume: Volume, *, new: bool) -> Attachable | Unattachable | None:
    use = claim_use(pod, volume)
    if use is None:
        plugin = in_tree_plugin(volume)
        if plugin is None or not plugin.translated:
            return None
        try:
            return Attachable(plugin.driver, inline_handle(volume), _needs(plugin))
        except MigrationError as error:
            return Unattachable(f"converting volume({volume.name}) from inline to csi: {error}", _needs(plugin))
    name = use.claim
    if not name:
        return Unattachable(NO_CLAIM_NAME, Needs.NOTHING)
    claim = cluster.get(PersistentVolumeClaim, name, pod.namespace)
    if claim is None:
        problem = f"looking up PVC {pod.namespace}/{name}: {claim_not_found(name)}"
        is_known = new and not cluster.is_forbidden(PersistentVolumeClaim, pod.namespace)
        return Unattachable(problem, Needs.NOTHING, missing=True) if is_known else None
    if use.ephemeral and (problem := not_owned(claim, pod)):
        return Unattachable(problem, Needs.NOTHING)
    return _attachable_of_claim(cluster, claim)


def _attachable_of_claim(cluster: Cluster, claim: PersistentVolumeClaim) -> Attachable | None:
    """Return the volume of a claim, or a placeholder for the volume that its class's provisioner will create."""
    volume = volume_of(cluster, claim)
    key = claim_key(claim)
    if volume is None:
        storage_class = storage_class_of(cluster, claim)
        if storage_class is None or not storage_class.provisioner:
            return None
        plugin = PLUGINS_BY_NAME.get(storage_class.provisioner)
        # The handle is unique: neither a claim's name nor a driver's handle starts with a line break.
        handle = f"\n{key}"
        if plugin is None:
            return Attachable(storage_class.provisioner, handle, Needs.NOTHING, key)
        return Attachable(plugin.driver, handle, _needs(plugin), key) if plugin.translated else None
    csi = volume.spec.csi
    if csi is not None:
        named = csi.driver and csi.volume_handle
        return Attachable(csi.driver, csi.volume_handle, Needs.NOTHING, key) if named else None
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not plugin.translated:
        return None
    try:
        handle = volume_handle(volume)
    except MigrationError:
        return None
    return Attachable(plugin.driver, handle, _needs(plugin), key) if handle else None


def _needs(plugin: InTreePlugin) -> Needs:
    return Needs.MIGRATED_PORTWORX if plugin is PORTWORX else Needs.CSI_NODE


#: The value in the column ``pod`` of an attachment that comes from a VolumeAttachment.
NO_POD = -1


class AttachedVolumes(msgspec.Struct, frozen=True):
    """The volumes that are attached in each world, as a sparse matrix of worlds and volumes.

    A world is a hypothetical state: the cluster with pods added to or removed from one node.
    """

    n_worlds: int
    #: The volumes by their numbers in ``Attachments``, ascending.
    numbers: Int64Array
    #: The cells ``world * n_volumes + column`` of attached volumes, ascending and without duplicates.
    cells: Int64Array

    def __or__(self, other: "AttachedVolumes") -> "AttachedVolumes":
        """Return the volumes that are attached in either matrix; both have the same worlds and volumes."""
        return AttachedVolumes(self.n_worlds, self.numbers, np.union1d(self.cells, other.cells))

    def holds(self, number: int) -> Mask:
        """Return the worlds in which a volume, one of ``numbers``, is attached: bool, shape (n_worlds,)."""
        column = int(np.searchsorted(self.numbers, number))
        return np.isin(np.arange(self.n_worlds) * len(self.numbers) + column, self.cells)

    def count(self, group: Int64Array, n_groups: int) -> Int64Array:
        counts = np.zeros((n_groups, self.n_worlds), dtype=np.int64)
        worlds, columns = self._worlds_and_columns()
        np.add.at(counts, (group[columns], worlds), 1)
        return counts

    def first(self) -> Int64Array:
        """Return the lowest number of an attached volume in each world, -1 without any: int64, shape (n_worlds,)."""
        first = np.full(self.n_worlds, -1, dtype=np.int64)
        worlds, columns = self._worlds_and_columns()
        first[worlds[::-1]] = self.numbers[columns[::-1]]
        return first

    def _worlds_and_columns(self) -> tuple[Int64Array, Int64Array]:
        return np.divmod(self.cells, max(len(self.numbers), 1))


class _Volumes:
    """The numbering of all volumes seen so far; it only grows, so that tables of other cluster states can share it."""

    def __init__(self) -> None:
        self.number: dict[tuple[str, str], int] = {}
        self.problems: list[str] = []
        self.drivers = LabelColumn.of(())

    def numbered(self, volume: Attachable | Unattachable) -> int:
        """Return the number of a volume; a volume that cannot be counted gets a new number each time."""
        if isinstance(volume, Attachable):
            return self.identified(volume.identity)
        self.problems.append(volume.problem)
        return len(self.problems) - 1

    def identified(self, identity: tuple[str, str]) -> int:
        """Return the number of the volume with a driver and handle."""
        number = self.number.get(identity)
        if number is None:
            number = self.number[identity] = len(self.problems)
            self.problems.append("")
        return number

    def settle(self) -> None:
        """Append the volumes that are new to the column of drivers."""
        begin = len(self.drivers.codes)
        drivers: list[str | None] = [None] * (len(self.problems) - begin)
        # The dictionary is in the order of the numbers.
        for (driver, _), number in reversed(self.number.items()):
            if number < begin:
                break
            drivers[number - begin] = driver
        self.drivers.grow(drivers)


class Attachments:
    """The table of attachments: a row states that a volume is attached to a node, and by which pod.

    The first rows are those of VolumeAttachments. A row per pod and volume follows, in the order of the pods. Pods
    without a node have rows as well, because a world may put them on a node. The columns are ``pod``, ``node``,
    ``volume`` and ``needs``. A volume is numbered by driver and handle, and has the same number wherever it is
    attached. A volume that cannot be counted has a number for its row alone, and a problem.

    pod: The slot of the pod, ascending; ``NO_POD`` for a VolumeAttachment.
    node: The row of the node; negative for a pod without a node.
    needs: The properties a node must have for the volume to count there, as in ``Needs``.
    csi_nodes: The drivers and volume limits of the nodes.
    level: The properties of each node, as in ``Needs``.

    Args:
        portworx_needs_annotation: True if Portworx volumes count only on nodes whose CSINode lists their plugin as
            migrated.
    """

    #: The kinds of objects that the table depends on, besides nodes and pods.
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
        objects = []
        for attachment in cluster.list(VolumeAttachment):
            spec = attachment.spec
            row = cluster.nodes.row.get(spec.node_name)
            volume = cluster.get(PersistentVolume, spec.source.persistent_volume_name)
            if row is not None and spec.attacher and volume is not None and volume.spec.csi is not None:
                number = self._volumes.identified((spec.attacher, volume.spec.csi.volume_handle))
                objects.append((NO_POD, row, number, int(Needs.NOTHING)))
        self._volumes.settle()
        self._set_columns(np.array([*objects, *rows], dtype=np.int64).reshape(-1, 4))
        self._latest = self

    def _set_columns(self, table: Int64Array) -> None:
        self.pod, self.node, self.volume, self.needs = (np.ascontiguousarray(column) for column in table.T)

    @classmethod
    def of(cls, cluster: Cluster, *, portworx_needs_annotation: bool) -> "Attachments":
        """Return the attachments of a cluster; the table of the cluster that it was derived from is updated."""

        def make() -> Attachments:
            return cls(cluster, portworx_needs_annotation=portworx_needs_annotation)

        first = cluster.derived(cls, portworx_needs_annotation, make, of=cls.kinds)
        moved = first._latest._moved(cluster) or first._moved(cluster) or make()
        first._latest = moved
        return moved

    def _moved(self, cluster: Cluster) -> "Attachments | None":
        """Return the table after pods have come and gone; ``None`` if the pods are not derived from the table's."""
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
            new._set_columns(np.concatenate((kept, np.array(rows, dtype=np.int64).reshape(-1, 4))))
        return new

    @property
    def number(self) -> Mapping[tuple[str, str], int]:
        """The numbers of the volumes that can be counted, by driver and handle."""
        return self._volumes.number

    @property
    def problems(self) -> Sequence[str]:
        """The reason, for each number, why the volume cannot be counted; empty if it can be."""
        return self._volumes.problems

    def _rows_of(self, slots: Int64Array) -> list[tuple[int, int, int, int]]:
        """Return the rows of the pods in some slots.

        Pods of a class have the same volumes, except for volumes that are named after the pod.
        """
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
                if ephemeral_claim_owner(pod) is None:
                    by_class[own_class] = volumes
            rows += [(slot, node, self._volumes.numbered(volume), int(volume.needs)) for volume in volumes]
        return rows

    def of_drivers(self, drivers: tuple[str, ...]) -> tuple[Int64Array, Int64Array]:
        """Return the volumes of some drivers.

        Returns: The numbers of the volumes, ascending, and for each the index into the argument ``drivers``.
        """
        wanted = {driver: i for i, driver in enumerate(drivers)}
        # Code -1, of volumes that cannot be counted, selects the last entry.
        column = self._volumes.drivers
        index = np.array([*(wanted.get(driver, -1) for driver in column.values), -1], dtype=np.int64)
        of_volume = index[column.codes]
        numbers = np.flatnonzero(of_volume >= 0)
        return numbers, of_volume[numbers]

    def by_pods(self, nodes: Overlay, numbers: Int64Array) -> AttachedVolumes:
        """Return the volumes, out of ascending ``numbers``, that the pods of each world use."""
        worlds, rows, signs = self._in_worlds(nodes)
        column = self._columns(numbers)[self.volume[rows]]
        counted = (column >= 0) & (self.needs[rows] <= self.level[nodes.rows[worlds]])
        distinct, inverse = np.unique(worlds[counted] * len(numbers) + column[counted], return_inverse=True)
        references = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(references, inverse, signs[counted])
        return AttachedVolumes(len(nodes), numbers, distinct[references > 0])

    def by_objects(self, nodes: Overlay, numbers: Int64Array) -> AttachedVolumes:
        """Return the volumes, out of ascending ``numbers``, that VolumeAttachments attach; pods do not affect them."""
        end = self._n_objects
        worlds, column = self._world_of_row(nodes)[self.node[:end]], self._columns(numbers)[self.volume[:end]]
        counted = (worlds >= 0) & (column >= 0)
        return AttachedVolumes(len(nodes), numbers, np.unique(worlds[counted] * len(numbers) + column[counted]))

    def problem_in_worlds(self, nodes: Overlay) -> Int64Array:
        """Return the first volume with a problem among each world's pods, or -1: int64, shape (n_worlds,)."""
        broken = np.flatnonzero([bool(problem) for problem in self.problems])
        if not len(broken):
            return np.full(len(nodes), -1, dtype=np.int64)
        return self.by_pods(nodes, broken).first()

    @property
    def _n_objects(self) -> int:
        return int(np.searchsorted(self.pod, NO_POD, "right"))

    def _columns(self, numbers: Int64Array) -> Int64Array:
        """Return the position of each volume in ``numbers``; -1 for other volumes."""
        columns = np.full(len(self.problems), -1, dtype=np.int64)
        columns[numbers] = np.arange(len(numbers))
        return columns

    def _world_of_row(self, nodes: Overlay) -> Int64Array:
        """Return the world of each node; -1 for other nodes, and in a last entry that row -1 selects."""
        worlds = np.full(len(self._cluster.nodes) + 1, -1, dtype=np.int64)
        worlds[nodes.rows] = np.arange(len(nodes))
        return worlds

    def _in_worlds(self, nodes: Overlay) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the rows of pods in every world.

        Returns: The world, the row of the table, and the sign: 1, or -1 for a pod that was removed.
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
        if len(parts) == 1:
            return parts[0]
        worlds, rows, signs = (np.concatenate(column) for column in zip(*parts, strict=True))
        return worlds, rows, signs


def _counted_volumes(pod_class: PodClass) -> bool:
    return counts_volumes(pod_class.pod)
