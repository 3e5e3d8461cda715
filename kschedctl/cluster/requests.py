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
from kschedctl.arrays import Int64Array, PodIndices
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import PodClass, Pods

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
        self.names = (*_FIRST, *sorted(others))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.allocatable = self._columns(nodes.allocatable)
        self.per_class = self._columns(requests)
        self.requested = np.array([pods.sum_per_node(row) for row in self.per_class])
        self._non_zero_per_class = non_zero
        self.non_zero_requested = np.array([pods.sum_per_node(row) for row in non_zero])

    def moved(self, before: Pods, after: Pods, removed: PodIndices, n_added: int) -> ResourceColumns | None:
        """The columns once some pods are gone and others there: sums are moved by what changes.

        Parameters
        ----------
        before, after : Pods
            The pods; those of ``after`` are moved from those of ``before``.
        removed : ndarray of int64
            The pods that are gone, as indices into ``before``.
        n_added : int
            How many pods of ``after``, its last, are new.

        Returns
        -------
        ResourceColumns or None
            ``None`` where a new class requests what nothing did before: the columns are to be made anew.
        """
        requests, non_zero = _of_classes(after.classes[len(before.classes) :], self._rules)
        if any(name not in self.index for amounts in requests for name in amounts):
            return None
        new = object.__new__(ResourceColumns)
        new.names, new.index, new.allocatable, new._rules = self.names, self.index, self.allocatable, self._rules
        new.per_class, new._non_zero_per_class = self.per_class, self._non_zero_per_class
        if requests:
            new.per_class = np.concatenate((self.per_class, self._columns(requests)), axis=1)
            new._non_zero_per_class = np.concatenate((self._non_zero_per_class, non_zero), axis=1)
        new.requested, new.non_zero_requested = self.requested.copy(), self.non_zero_requested.copy()
        added = np.arange(len(after) - n_added, len(after))
        for pods, indices, sign in ((before, removed, -1), (after, added, 1)):
            on_nodes = indices[pods.node_row[indices] >= 0]
            rows, classes = pods.node_row[on_nodes], pods.class_id[on_nodes]
            np.add.at(new.requested.T, rows, sign * new.per_class[:, classes].T)
            np.add.at(new.non_zero_requested.T, rows, sign * new._non_zero_per_class[:, classes].T)
        return new

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
