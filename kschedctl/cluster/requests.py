"""Resources as columns: what nodes offer and what the pods on them request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedctl.api.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    RequestRules,
    non_zero_requests,
    pod_requests,
    scheduler_units,
)
from kschedctl.arrays import Int64Array
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PodClass

_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


class ResourceColumns:
    """Per resource one array over nodes and one over pod classes, in milli-CPU, bytes and counts.

    Attributes
    ----------
    names : tuple of str
        The resources: cpu, memory, ephemeral-storage, pods, then the others by name.
    index : dict of str to int
        The position of a name.
    allocatable : ndarray of int64, shape (n_resources, n_nodes)
        What each node offers.
    requested : ndarray of int64, shape (n_resources, n_nodes)
        What the pods on each node request; of ``pods`` their number.
    per_class : ndarray of int64, shape (n_resources, n_classes)
        What a pod of each class requests; of ``pods`` 1.
    non_zero_requested : ndarray of int64, shape (2, n_nodes)
        CPU and memory as scoring counts them, with defaults for containers without requests.
    """

    def __init__(self, nodes: Nodes, pods: Pods, rules: RequestRules) -> None:
        requests, non_zero = _of_classes(pods.classes, rules)
        others = {name for amounts in (*nodes.allocatable, *requests) for name in amounts} - set(_FIRST)
        self._rules = rules
        self._nodes = nodes
        self._mark = pods.mark
        self.names = (*_FIRST, *sorted(others))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.allocatable = self._columns(nodes.allocatable)
        self.per_class = self._columns(requests)
        self.requested = np.array([pods.sum_per_node(row) for row in self.per_class])
        self._non_zero_per_class = non_zero
        self.non_zero_requested = np.array([pods.sum_per_node(row) for row in non_zero])

    def are_of(self, nodes: Nodes, pods: Pods) -> bool:
        """Whether the columns are of these nodes and pods."""
        return self._mark is pods.mark and self._nodes is nodes and self.per_class.shape[1] == len(pods.classes)

    def moved(self, nodes: Nodes, pods: Pods) -> ResourceColumns | None:
        """The columns of nodes and pods that were derived from these: sums are moved by what changes.

        Returns
        -------
        ResourceColumns or None
            ``None`` where the columns are to be made anew: pods came to request, or nodes to offer, what nothing did
            before, or the nodes are others.
        """
        moves = pods.mark.moves_since(self._mark)
        if moves is None:
            return None
        requests, non_zero = _of_classes(pods.classes[self.per_class.shape[1] :], self._rules)
        if any(name not in self.index for amounts in requests for name in amounts):
            return None
        new = object.__new__(ResourceColumns)
        new.names, new.index, new._rules, new._nodes, new._mark = self.names, self.index, self._rules, nodes, pods.mark
        allocatable = self._allocatable_moved(nodes)
        if allocatable is None:
            return None
        new.allocatable = allocatable
        new.per_class, new._non_zero_per_class = self.per_class, self._non_zero_per_class
        if requests:
            new.per_class = np.concatenate((self.per_class, self._columns(requests)), axis=1)
            new._non_zero_per_class = np.concatenate((self._non_zero_per_class, non_zero), axis=1)
        new.requested, new.non_zero_requested = self.requested, self.non_zero_requested
        if len(moves):
            new.requested, new.non_zero_requested = self.requested.copy(), self.non_zero_requested.copy()
        for slots, sign in moves.signed():
            if not len(slots):
                continue
            rows = moves.slots.take("node_row", slots)
            classes = moves.slots.take("class_id", slots)[rows >= 0]
            rows = rows[rows >= 0]
            np.add.at(new.requested.T, rows, sign * new.per_class[:, classes].T)
            np.add.at(new.non_zero_requested.T, rows, sign * new._non_zero_per_class[:, classes].T)
        return new

    def _allocatable_moved(self, nodes: Nodes) -> Int64Array | None:
        if nodes is self._nodes:
            return self.allocatable
        if nodes.row is not self._nodes.row:
            return None
        rows = np.flatnonzero(nodes.row_version != self._nodes.row_version)
        offers = [nodes.allocatable[row] for row in rows.tolist()]
        if any(name not in self.index for amounts in offers for name in amounts):
            return None
        allocatable = self.allocatable.copy()
        allocatable[:, rows] = self._columns(offers)
        return allocatable

    def _columns(self, rows: list[dict[str, int]] | tuple[dict[str, int], ...]) -> Int64Array:
        out = np.zeros((len(self.names), len(rows)), dtype=np.int64)
        for i, amounts in enumerate(rows):
            for name, amount in amounts.items():
                out[self.index[name], i] = amount
        return out


def _of_classes(classes: Sequence[PodClass], rules: RequestRules) -> tuple[list[dict[str, int]], Int64Array]:
    """What a pod of each class requests by resource, and its CPU and memory as scoring counts them."""
    requests = []
    non_zero = np.zeros((2, len(classes)), dtype=np.int64)
    for i, pod_class in enumerate(classes):
        nanos = pod_requests(pod_class.pod, rules)
        # ``pods`` among a pod's requests is not counted; every pod is one.
        requests.append({**scheduler_units(nanos), PODS: 1})
        non_zero[:, i] = non_zero_requests(pod_class.pod, rules, nanos)
    return requests, non_zero
