"""The facts that rules about a pod look at: the decision, and the nodes by the filters that reject them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.requests import ResourceColumns
from kschedctl.common.arrays import Mask, Rows
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import pod_requests, scheduler_units
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.remedy import Operands, RemedyContext

#: The filters by which a pod itself chooses its nodes.
SELECTION: Final = ("NodeAffinity", "NodeName")
#: The filters by which a pod's volumes choose its nodes.
VOLUME_TOPOLOGY: Final = ("VolumeBinding", "VolumeZone")


class Situation:
    """A decision and the cluster around it. Everything is computed on demand and once.

    Parameters
    ----------
    decision : Decision
        The decision for the pod.
    node : str
        The node that the pod is bound to in the snapshot; empty if it is pending.
    """

    def __init__(self, decision: Decision, node: str = "") -> None:
        self.decision: Final = decision
        self.node: Final = node

    @property
    def cluster(self) -> Cluster:
        """The cluster of the decision."""
        return self.decision.cluster

    @property
    def pod(self) -> Pod:
        """The pod, with defaults."""
        return self.decision.pod

    @property
    def release(self) -> Release:
        """The release whose rules apply."""
        return self.decision.release

    @property
    def n_nodes(self) -> int:
        """The number of nodes in the cluster."""
        return len(self.cluster.nodes)

    @property
    def filtered(self) -> bool:
        """True if filters ran: PreFilter did not reject the pod, and the cycle did not fail before."""
        return self.decision.statuses is not None and self.decision.statuses.snapshot is not None

    @cached_property
    def workload(self) -> tuple[str, str, str]:
        """Kind, namespace and name of the pod's workload, or of the pod if it has no controller."""
        return workload_of(self.cluster, self.pod.metadata)

    @cached_property
    def is_of_daemon_set(self) -> bool:
        """True if a DaemonSet controls the pod, so that the pod is for one node only."""
        owner = self.pod.metadata.controller
        return owner is not None and owner.kind == "DaemonSet"

    @cached_property
    def rejected(self) -> Mapping[str, Mask]:
        """The nodes that each filter rejects: bool, shape (n_nodes,).

        Nodes that PreFilter leaves out count for the plugins that narrow the nodes down.
        """
        statuses = self.decision.statuses
        out: dict[str, Mask] = defaultdict(lambda: np.zeros(self.n_nodes, dtype=np.bool_))
        if statuses is None:
            return out
        for run in (statuses.snapshot, statuses.nominated):
            for plugin, said in run.rejections.items() if run is not None else ():
                if run is not None and said.code.any():
                    out[plugin][run.rows[said.code != 0]] = True
        outcome = self.decision.pre_filter
        if outcome is not None and outcome.node_names is not None:
            left_out = np.ones(self.n_nodes, dtype=np.bool_)
            left_out[self.decision.searched] = False
            for plugin in outcome.plugins:
                out[plugin] |= left_out
        return out

    def rejected_by(self, *plugins: str) -> Mask:
        """Return the nodes that at least one of some filters rejects: bool, shape (n_nodes,)."""
        out = np.zeros(self.n_nodes, dtype=np.bool_)
        for plugin in plugins:
            if plugin in self.rejected:
                out |= self.rejected[plugin]
        return out

    @cached_property
    def selected(self) -> Mask:
        """The nodes that the pod's own selection leaves: ``nodeSelector``, node affinity, ``nodeName``.

        Nodes outside the placement in which the pod's group was tried are not among them.
        """
        chosen = ~self.rejected_by(*SELECTION)
        statuses = self.decision.statuses
        return chosen & ~statuses.outside if statuses is not None and statuses.outside is not None else chosen

    @cached_property
    def in_reach(self) -> Mask:
        """The selected nodes that the pod's volumes can be used on."""
        return self.selected & ~self.rejected_by(*VOLUME_TOPOLOGY)

    def names(self, nodes: Mask) -> list[str]:
        """Return the names of nodes, in the order of their rows."""
        return [self.cluster.nodes.names[row] for row in np.flatnonzero(nodes).tolist()]

    def nodes(self, nodes: Mask) -> Iterator[Node]:
        """Yield node objects."""
        return (self.cluster.nodes.objects[row] for row in np.flatnonzero(nodes).tolist())

    def operands(self, row: int, plugin: str) -> tuple[Operands, ...]:
        """Return the operands of a filter's reasons on a node."""
        said = self.decision.verdict(row).reasons
        return tuple(r.operands for name, reasons in said if name == plugin for r in reasons if r.operands is not None)

    def context(self, row: int = -1) -> RemedyContext:
        """Return the context for remedies, of a node or of none."""
        return RemedyContext(self.pod, self.cluster, self.release, row)

    @cached_property
    def requests(self) -> Mapping[str, int]:
        """The pod's requests by resource: milli-CPU, bytes and counts; ``pods`` is 1."""
        rules = self.decision.framework.handle.request_rules
        wanted = {name: n for name, n in scheduler_units(pod_requests(self.pod, rules)).items() if n}
        return {**wanted, "pods": 1}

    @cached_property
    def columns(self) -> ResourceColumns:
        """The resources of all nodes."""
        return self.cluster.resources(self.decision.framework.handle.request_rules)

    def offered(self, resource: str) -> Rows:
        """Return the allocatable amount of a resource by node: int64, shape (n_nodes,)."""
        index = self.columns.index.get(resource)
        return np.zeros(self.n_nodes, dtype=np.int64) if index is None else self.columns.allocatable[index]

    def used(self, resource: str) -> Rows:
        """Return the requested amount of a resource by node: int64, shape (n_nodes,)."""
        index = self.columns.index.get(resource)
        return np.zeros(self.n_nodes, dtype=np.int64) if index is None else self.columns.requested[index]

    @cached_property
    def large_enough(self) -> Mask:
        """The nodes that offer what the pod requests, whether or not it is free: bool, shape (n_nodes,)."""
        out = np.ones(self.n_nodes, dtype=np.bool_)
        for resource, wanted in self.requests.items():
            out &= self.offered(resource) >= wanted
        return out

    def short_of(self, resource: str) -> Mask:
        """Return the nodes with less of a resource free than the pod requests: bool, shape (n_nodes,)."""
        return self.offered(resource) - self.used(resource) < self.requests.get(resource, 0)

    def owner_of(self, index: int) -> str:
        """Return the workload of a pod of the cluster as text, such as ``Deployment shop/web``."""
        kind, namespace, name = workload_of(self.cluster, self.cluster.pods.records[index].metadata)
        return f"{kind} {namespace}/{name}"


def all_rows(nodes: Mask) -> Sequence[int]:
    """Return the rows of a mask."""
    rows: list[int] = np.flatnonzero(nodes).tolist()
    return rows
