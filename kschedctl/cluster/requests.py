"""Resources as columns: what nodes offer and what the pods on them request."""

from __future__ import annotations

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
        requests = []
        non_zero = np.zeros((2, len(pods.classes)), dtype=np.int64)
        for i, pod_class in enumerate(pods.classes):
            nanos = pod_requests(pod_class.pod, rules)
            # ``pods`` among a pod's requests is not counted; every pod is one.
            requests.append({**scheduler_units(nanos), PODS: 1})
            non_zero[:, i] = non_zero_requests(pod_class.pod, rules, nanos)
        others = {name for amounts in (*nodes.allocatable, *requests) for name in amounts} - set(_FIRST)
        self.names = (*_FIRST, *sorted(others))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.allocatable = self._columns(nodes.allocatable)
        self.per_class = self._columns(requests)
        self.requested = np.array([pods.sum_per_node(row) for row in self.per_class])
        self.non_zero_requested = np.array([pods.sum_per_node(row) for row in non_zero])

    def _columns(self, rows: list[dict[str, int]] | tuple[dict[str, int], ...]) -> Int64Array:
        out = np.zeros((len(self.names), len(rows)), dtype=np.int64)
        for i, amounts in enumerate(rows):
            for name, amount in amounts.items():
                out[self.index[name], i] = amount
        return out
