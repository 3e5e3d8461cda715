"""The capacity of nodes as columns: allocatable, requested by pods, and requested by nominated pods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.node_health import is_unhealthy
from kschedctl.objects.resources import CPU, PODS, RequestRules, exact_quantity
from kschedctl.questions.answers.nodes import (
    NamespaceRequestsData,
    NodeAmountsData,
    OwnerRequestsData,
    ResourceTotalData,
)


class NodeCapacity:
    """The capacity of the nodes of a cluster, as the scheduler counts it.

    Parameters
    ----------
    rules : RequestRules
        The rules of the release for the requests of pods.

    Attributes
    ----------
    names : tuple of str
        The resources.
    allocatable, requested, nominated, free : ndarray of int64, shape (n_resources, n_nodes)
        The amounts in milli-CPU, bytes and counts; ``nominated`` is requested by pending pods that are nominated to the
        node, and ``free`` is at least 0.
    """

    def __init__(self, cluster: Cluster, rules: RequestRules) -> None:
        self._cluster = cluster
        self._columns = cluster.resources(rules)
        self.names = self._columns.names
        self.allocatable = self._columns.allocatable
        self.requested = self._columns.requested
        self.free = np.maximum(self.allocatable - self.requested, 0)
        self.nominated = np.zeros_like(self.requested)
        pods = cluster.pods
        waiting = pods.nominated
        np.add.at(self.nominated.T, pods.nominated_to(waiting), self._columns.per_class[:, pods.class_id[waiting]].T)

    @cached_property
    def available(self) -> Mask:
        """The nodes that accept new pods, neither cordoned nor unhealthy by a taint: bool, shape (n_nodes,)."""
        nodes = self._cluster.nodes
        unhealthy = np.array([is_unhealthy(node) for node in nodes.objects], dtype=np.bool_)
        return ~(nodes.unschedulable | unhealthy)

    def of_node(self, row: int) -> tuple[NodeAmountsData, ...]:
        """Return the amounts on a node, for all resources that it offers or that its pods request."""
        some = np.flatnonzero(self.allocatable[:, row] + self.requested[:, row])
        return tuple(
            NodeAmountsData(
                name := self.names[i],
                exact_quantity(name, int(self.allocatable[i, row])),
                exact_quantity(name, int(self.requested[i, row])),
                exact_quantity(name, int(self.free[i, row])),
                exact_quantity(name, int(self.nominated[i, row])),
            )
            for i in some.tolist()
        )

    def total(self, rows: Rows) -> tuple[ResourceTotalData, ...]:
        """Return the sums over those of some nodes that accept new pods, for all resources that they offer."""
        rows = rows[self.available[rows]]
        return tuple(self._totals(rows)) if len(rows) else ()

    def _totals(self, rows: Rows) -> Iterable[ResourceTotalData]:
        by_name = self._cluster.nodes.by_name[0]
        rows = rows[np.argsort(by_name[rows])]
        for i, name in enumerate(self.names):
            offered, free = int(self.allocatable[i, rows].sum()), self.free[i, rows]
            if offered:
                # argmax returns the first of equal nodes.
                best = int(np.argmax(free))
                yield ResourceTotalData(
                    name,
                    exact_quantity(name, offered),
                    exact_quantity(name, int(self.requested[i, rows].sum())),
                    exact_quantity(name, int(free.sum())),
                    exact_quantity(name, int(self.nominated[i, rows].sum())),
                    exact_quantity(name, int(free[best])),
                    self._cluster.nodes.names[int(rows[best])] if free[best] else "",
                )

    def fullest_first(self, rows: Rows, resource: str) -> Rows:
        """Return the rows with the largest requested share of a resource first; nodes without it are last."""
        i = self.names.index(resource)
        offered = self.allocatable[i, rows]
        share = np.where(offered > 0, self.requested[i, rows] / np.maximum(offered, 1), -1.0)
        return rows[np.lexsort((self._cluster.nodes.by_name[0][rows], -share))]

    def namespaces(self, rows: Rows) -> tuple[NamespaceRequestsData, ...]:
        """Return the requests of the pods on some nodes by namespace, the largest requests of CPU first."""
        pods = self._cluster.pods
        classes, of_rows, counts = pods.cells(np.arange(len(pods.classes), dtype=np.int64))
        here = np.isin(of_rows, rows)
        sums: defaultdict[str, Int64Array] = defaultdict(lambda: np.zeros(len(self.names), dtype=np.int64))
        number = np.bincount(classes[here], counts[here], len(pods.classes)).astype(np.int64)
        for class_id in np.flatnonzero(number).tolist():
            sums[pods.classes[class_id].namespace] += self._columns.per_class[:, class_id] * number[class_id]
        return tuple(
            NamespaceRequestsData(name, int(amounts[self._columns.index[PODS]]), self._requests(amounts))
            for name, amounts in self._largest(sums)
        )

    def owners(self, indices: PodIndices) -> tuple[OwnerRequestsData, ...]:
        """Return the requests of some pods by workload, the largest requests of CPU first."""
        pods = self._cluster.pods
        sums: defaultdict[str, Int64Array] = defaultdict(lambda: np.zeros(len(self.names), dtype=np.int64))
        keys: defaultdict[str, list[str]] = defaultdict(list)
        for index in indices.tolist():
            kind, namespace, name = workload_of(self._cluster, pods.records[index].metadata)
            owner = f"{kind} {namespace}/{name}"
            sums[owner] += self._columns.per_class[:, pods.class_id[index]]
            keys[owner].append(pods.key(index))
        return tuple(
            OwnerRequestsData(owner, tuple(sorted(keys[owner])), self._requests(amounts))
            for owner, amounts in self._largest(sums)
        )

    def _largest(self, sums: dict[str, Int64Array]) -> list[tuple[str, Int64Array]]:
        cpu, pods = self._columns.index[CPU], self._columns.index[PODS]
        return sorted(sums.items(), key=lambda item: (-int(item[1][cpu]), -int(item[1][pods]), item[0]))

    def _requests(self, amounts: Int64Array) -> dict[str, str]:
        return {
            name: exact_quantity(name, int(amount))
            for name, amount in zip(self.names, amounts, strict=True)
            if amount and name != PODS
        }
