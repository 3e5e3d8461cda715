"""Base classes for plugins that look at one node at a time: simpler to write than arrays, and slower.

Derive from ``NodeByNodeFilter``, ``NodeByNodeScore`` or both, and from the other extension points as needed. What a
node looks like while nominated pods or the victims of a preemption are tried is in the ``NodeInfo`` already.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from kschedctl.api.core import Node
from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array, Rows
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.requests import ResourceColumns
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import FilterPlugin, Handle, ScorePlugin
from kschedctl.framework.status import Code, Reason, Rejections, Status


@dataclass(frozen=True)
class NodeInfo:
    """A node and the pods on it.

    Attributes
    ----------
    row : int
        Its row in ``Cluster.nodes``.
    pod_indices : tuple of int
        Its pods as indices into ``Cluster.pods``: first those of the snapshot that are still there, then those that
        are tried on it.
    """

    node: Node
    row: int
    pod_indices: tuple[int, ...]
    _cluster: Cluster
    _columns: ResourceColumns

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The pods themselves."""
        return tuple(map(self._cluster.pods.pod, self.pod_indices))

    @property
    def allocatable(self) -> Mapping[str, int]:
        """What the node offers by resource: milli-CPU, bytes and counts."""
        return self._cluster.nodes.allocatable[self.row]

    @cached_property
    def requested(self) -> Mapping[str, int]:
        """What its pods request by resource: milli-CPU, bytes and counts; of ``pods`` their number."""
        pods = self._cluster.pods
        amounts = self._columns.per_class[:, pods.class_id[list(self.pod_indices)]].sum(axis=1)
        return dict(zip(self._columns.names, amounts.tolist(), strict=True))


def node_infos(handle: Handle, nodes: Overlay) -> Iterator[NodeInfo]:
    """The node of each world, with the pods that it has there.

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
    """A Filter plugin that is asked about one node after the other."""

    @abstractmethod
    def filter_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        """Say whether the pod can run on a node: Success, or why not."""

    def explain_node(self, state: CycleState, pod: Pod, node: NodeInfo, status: Status) -> tuple[Reason, ...]:
        """Put operands behind the reasons of a status, one reason each; asked only when somebody looks at the node."""
        return tuple(Reason(text) for text in status.reasons)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Ask about every world of the overlay."""
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
    """A Score plugin that is asked about one node after the other."""

    @abstractmethod
    def score_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score a node: 0 to 100, or any whole number where ``normalize_score`` brings it there."""

    def score(self, state: CycleState, pod: Pod, rows: Rows) -> Int64Array:
        """Ask about every row."""
        infos = node_infos(self.handle, self.handle.cluster.overlay(rows))
        return np.array([self.score_node(state, pod, info) for info in infos], dtype=np.int64)
