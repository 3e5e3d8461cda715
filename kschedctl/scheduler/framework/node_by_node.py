"""Base classes for plugins that handle one node at a time: simpler to write than array code, and slower.

Derive from ``NodeByNodeFilter``, ``NodeByNodeScore`` or both, and from the other extension points as needed. The
``NodeInfo`` already reflects added nominated pods and removed preemption victims.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.requests import ResourceColumns
from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import FilterPlugin, Handle, ScorePlugin
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status


@dataclass(frozen=True)
class NodeInfo:
    """A node and the pods on it.

    Attributes
    ----------
    row : int
        The node's row in ``Cluster.nodes``.
    pod_indices : tuple of int
        Indices of the node's pods in ``Cluster.pods``: first the remaining pods of the snapshot, then the pods that are
        tentatively added.
    """

    node: Node
    row: int
    pod_indices: tuple[int, ...]
    _cluster: Cluster
    _columns: ResourceColumns

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The pods on the node, as objects."""
        return tuple(map(self._cluster.pods.pod, self.pod_indices))

    @property
    def allocatable(self) -> Mapping[str, int]:
        """The node's allocatable amount of each resource: milli-CPU, bytes and counts."""
        return self._cluster.nodes.allocatable[self.row]

    @cached_property
    def requested(self) -> Mapping[str, int]:
        """The pods' total requests for each resource, in milli-CPU, bytes and counts; for ``pods``, their number."""
        pods = self._cluster.pods
        amounts = self._columns.per_class[:, pods.class_id[list(self.pod_indices)]].sum(axis=1)
        return dict(zip(self._columns.names, amounts.tolist(), strict=True))


def node_infos(handle: Handle, nodes: Overlay) -> Iterator[NodeInfo]:
    """Yield the node of each world (hypothetical node state), with the pods it has in that world.

    Parameters
    ----------
    handle : Handle
        The plugin's handle.
    nodes : Overlay
        The worlds.
    """
    cluster = handle.cluster
    columns = cluster.resources(handle.request_rules)
    pods = [cluster.pods.on_node(row).tolist() for row in nodes.rows.tolist()]
    for worlds, indices, sign in nodes.changes():
        for world, index in zip(worlds.tolist(), indices.tolist(), strict=True):
            if sign > 0:
                pods[world].append(index)
            else:
                pods[world].remove(index)
    for world, row in enumerate(nodes.rows.tolist()):
        yield NodeInfo(cluster.nodes.objects[row], row, tuple(pods[world]), cluster, columns)


class NodeByNodeFilter(FilterPlugin):
    """A Filter plugin that handles one node at a time."""

    @abstractmethod
    def filter_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        """Return Success if the pod can run on the node, else a status with the reasons."""

    def explain_node(self, state: CycleState, pod: Pod, node: NodeInfo, status: Status) -> tuple[Reason, ...]:
        """Return the reasons of a status with their operands, one ``Reason`` per text.

        Called only when the node is explained.
        """
        return tuple(Reason(text) for text in status.reasons)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Call ``filter_node`` for every world of the overlay."""
        statuses: dict[Status, int] = {}
        which = np.full(len(nodes), -1, dtype=np.int64)
        for world, info in enumerate(node_infos(self.handle, nodes)):
            status = self.filter_node(state, pod, info)
            if status.code is not Code.SUCCESS:
                which[world] = statuses.setdefault(status, len(statuses))
        said = tuple(statuses)

        @cache
        def infos() -> tuple[NodeInfo, ...]:
            return tuple(node_infos(self.handle, nodes))

        def details(position: int) -> tuple[Reason, ...]:
            return self.explain_node(state, pod, infos()[position], said[which[position]])

        return Rejections.choose(which, said, details)


class NodeByNodeScore(ScorePlugin):
    """A Score plugin that handles one node at a time."""

    @abstractmethod
    def score_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score a node: 0 to 100, or any integer that ``normalize_score`` brings into that range."""

    def score(self, state: CycleState, pod: Pod, rows: Rows) -> Int64Array:
        """Call ``score_node`` for every row."""
        infos = node_infos(self.handle, self.handle.cluster.overlay(rows))
        return np.array([self.score_node(state, pod, info) for info in infos], dtype=np.int64)
