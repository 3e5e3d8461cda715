"""Resources as columns: the nodes' allocatable amounts and the requests of the pods on them."""

from collections.abc import Sequence

import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodClass
from kschedctl.cluster.slots import Moves
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Node
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

_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


class ResourceColumns:
    """Resource amounts per node and per pod class, one array row per resource, in milli-CPU, bytes and counts.

    names: The resources: cpu, memory, ephemeral-storage, pods, then the others by name.
    non_zero_requested: CPU and memory as scoring counts them, with defaults for containers without requests.
    """

    def __init__(self, nodes: Nodes, pods: Pods, rules: RequestRules) -> None:
        requests, non_zero = _of_classes(pods.classes, rules)
        others = {name for amounts in (*nodes.allocatable, *requests) for name in amounts} - set(_FIRST)
        self._rules = rules
        self._nodes = nodes
        self._mark = pods.mark
        self._class_table = pods.class_table
        self.names = (*_FIRST, *sorted(others))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.allocatable = self._columns(nodes.allocatable)
        self.per_class = self._columns(requests)
        self._non_zero_per_class = non_zero
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
        changed = nodes.objects if nodes.row is not self._nodes.row else self._changed_nodes(nodes)
        offers = [nodes.allocatable[nodes.row[node.name]] for node in changed]
        if any(name not in self.index for amounts in (*requests, *offers) for name in amounts):
            return None
        new = object.__new__(ResourceColumns)
        new.__dict__.update(self.__dict__)
        new._nodes, new._mark = nodes, pods.mark
        if requests:
            new.per_class = np.concatenate((self.per_class, self._columns(requests)), axis=1)
            new._non_zero_per_class = np.concatenate((self._non_zero_per_class, non_zero), axis=1)
        if nodes.row is not self._nodes.row:
            new.allocatable = self._columns(offers)
        elif changed:
            new.allocatable = self.allocatable.copy()
            new.allocatable[:, [nodes.row[node.name] for node in changed]] = self._columns(offers)
        # If rows refer to other nodes, the sums are invalid, even if no pod has moved.
        moves = pods.mark.moves_since(self._mark) if nodes.row is self._nodes.row else None
        if moves is None:
            new._sum(pods)
        elif len(moves):
            new.requested, new.non_zero_requested = self.requested.copy(), self.non_zero_requested.copy()
            new._move(moves)
        return new

    def _changed_nodes(self, nodes: Nodes) -> list[Node]:
        if nodes is self._nodes:
            return []
        return [nodes.objects[row] for row in np.flatnonzero(nodes.row_version != self._nodes.row_version).tolist()]

    def _sum(self, pods: Pods) -> None:
        self.requested = np.array([pods.sum_per_node(row) for row in self.per_class])
        self.non_zero_requested = np.array([pods.sum_per_node(row) for row in self._non_zero_per_class])

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

    def _columns(self, rows: list[dict[str, int]] | tuple[dict[str, int], ...]) -> Int64Array:
        out = np.zeros((len(self.names), len(rows)), dtype=np.int64)
        for i, amounts in enumerate(rows):
            for name, amount in amounts.items():
                out[self.index[name], i] = amount
        return out


def _of_classes(classes: Sequence[PodClass], rules: RequestRules) -> tuple[list[dict[str, int]], Int64Array]:
    """Return the requests of a pod of each class by resource, and its CPU and memory as scoring counts them."""
    requests = []
    non_zero = np.zeros((2, len(classes)), dtype=np.int64)
    for i, pod_class in enumerate(classes):
        nanos = pod_requests(pod_class.pod, rules)
        # A ``pods`` entry in a pod's requests is ignored; every pod counts as 1.
        requests.append({**scheduler_units(nanos), PODS: 1})
        non_zero[:, i] = non_zero_requests(pod_class.pod, rules, nanos)
    return requests, non_zero
