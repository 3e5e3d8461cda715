"""Diagnoses: the facts that rules look at, and the cause of a problem with evidence and cures."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.cluster.requests import ResourceColumns
from kschedctl.common.arrays import Mask, Rows
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import pod_requests, scheduler_units
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.risk import Risk

if TYPE_CHECKING:
    from kschedctl.autoscaler.expansion import Expansion


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A cure that takes effect outside the scheduler, so that it cannot be tried on a snapshot."""

    #: A short instruction, in the imperative.
    summary: str
    #: The risk of the cure, by which it is ranked among remedies.
    risk: Risk
    #: The reason why the cure was not tried, such as ``a provisioner creates the volume``.
    untried: str
    #: The kubectl command, or a line that begins with ``#`` for anything else; empty for none.
    command: str = ""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The cause of a problem, and what to do about it."""

    #: The name of the rule that found the cause, such as ``missing-storage-class``.
    rule: str
    #: The cause in one clause, with names and numbers: no capital letter unless a name requires it, no full stop.
    cause: str
    #: Facts that show the cause, one clause each.
    evidence: tuple[str, ...] = ()
    #: Cures as changes; each is tried before it is shown.
    remedies: tuple[Remedy, ...] = ()
    #: Cures that cannot be tried.
    advice: tuple[Advice, ...] = ()
    #: Commands that show what the snapshot does not contain.
    checks: tuple[str, ...] = ()
    #: The answer of the autoscaler of nodes, beside the first cause; ``None`` if there is none.
    expansion: "Expansion | None" = None


# The facts that rules about a pod look at: the decision, and the nodes by the filters that reject them.

#: The filters by which a pod itself chooses its nodes.
SELECTION: Final = ("NodeAffinity", "NodeName")
#: The filters by which a pod's volumes choose its nodes.
VOLUME_TOPOLOGY: Final = ("VolumeBinding", "VolumeZone")


class Situation:
    """A decision and the cluster around it. Everything is computed on demand and once.

    Args:
        node: The node that the pod is bound to in the snapshot; empty if it is pending.
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

    @property
    def owner_text(self) -> str:
        """The pod's workload as text, such as ``Deployment shop/web``."""
        kind, namespace, name = self.workload
        return f"{kind} {namespace}/{name}"

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


class ClusterDiagnosis(Diagnosis, frozen=True, kw_only=True):
    """The cause of a problem of an object."""

    #: The object; ``namespace`` is empty for a cluster-scoped kind.
    kind: str
    #: The object; ``namespace`` is empty for a cluster-scoped kind.
    namespace: str
    #: The object; ``namespace`` is empty for a cluster-scoped kind.
    name: str
    #: The problem in a few words that follow the object's name, such as ``has 4 of 6 replicas``.
    state: str
    #: The number of pods that have not been created.
    missing: int = 0
    #: The stored pods that do not start, as ``namespace/name``, oldest first.
    pods: tuple[str, ...] = ()
    #: The time at which the problem began; ``None`` if it is unknown.
    since: datetime | None = None

    @property
    def subject(self) -> str:
        """The object as text, such as ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class ClusterSituation:
    """The facts that rules about a cluster look at.

    Args:
        only: Kind, namespace and name of the only workload that is asked about; ``None`` for the whole cluster.
    """

    def __init__(self, scheduler: Scheduler, only: tuple[str, str, str] | None = None) -> None:
        self.scheduler = scheduler
        self._only = only

    @property
    def of_one_workload(self) -> bool:
        """True if a single workload is asked about."""
        return self._only is not None

    def concerns(self, workload: tuple[str, str, str]) -> bool:
        """Report whether a workload is asked about."""
        return self._only is None or self._only == workload

    @property
    def cluster(self) -> Cluster:
        return self.scheduler.cluster

    @property
    def release(self) -> Release:
        """The release whose rules apply."""
        return self.scheduler.release

    @property
    def now(self) -> datetime | None:
        """The time of the snapshot; ``None`` if it is unknown."""
        return self.cluster.taken_at

    @cached_property
    def n_pending(self) -> int:
        """The number of pods without a node."""
        return int((self.cluster.pods.node_row == PENDING).sum())

    def seconds_since(self, time: datetime | None) -> float:
        """Return the age of a time at the time of the snapshot, in seconds; 0 if one of them is unknown."""
        return (self.now - time).total_seconds() if self.now is not None and time is not None else 0.0
