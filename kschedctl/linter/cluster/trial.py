"""One workload over a snapshot: does a pod of it fit, on empty nodes too, how many fit, and may a rollout begin."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from msgspec import structs

from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.well_known import POD_TEMPLATE_HASH
from kschedctl.api.workload import CronJob, DaemonSet, Job
from kschedctl.errors import InputError
from kschedctl.findings.finding import Finding
from kschedctl.findings.location import Location
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.scheduler.decision import Decision
from kschedctl.whatif.workload_pods import fresh_names
from kschedctl.workloads.made_pods import MadePod
from kschedctl.workloads.ownership import MAKERS, pods_made_by

#: Beyond this many replicas the others are not tried.
MOST: Final = 200


class Placed(NamedTuple):
    """How many pods fit one after another."""

    #: How many did.
    n: int
    #: What was said of the next one; ``None`` where all fit.
    stopped: Decision | None
    #: The cluster with those that fit.
    cluster: LoadedCluster


class Trial:
    """A workload over a cluster, its own pods taken out of it.

    ``workload`` is what makes the pods, or a pod; ``place`` is where it was read.
    """

    def __init__(self, cluster: LoadedCluster, workload: ApiObject, place: Location) -> None:
        self.cluster = cluster
        self.workload = workload
        self.place = place

    @cached_property
    def refusal(self) -> Finding | None:
        """Why there are no pods to ask about: the workload or its pods are refused; ``None`` where they are not."""
        try:
            if self.made:
                _ = self.pod
        except InputError as error:
            return error.findings[0]
        return None

    @cached_property
    def own(self) -> list[int]:
        """The workload's pods in the cluster."""
        kind = type(self.workload)
        if kind is Pod:
            index = self.cluster.pods.index.get((self.workload.namespace, self.workload.name))
            return [] if index is None else [index]
        if kind not in MAKERS:
            return []
        return pods_made_by(self.cluster.cluster, kind, self.workload.namespace, self.workload.name)

    @cached_property
    def without_own(self) -> LoadedCluster:
        """The cluster without them."""
        return self._with_pods_removed(self.own) if self.own else self.cluster

    def _with_pods_removed(self, removed: list[int]) -> LoadedCluster:
        return self.cluster.over(self.cluster.cluster.with_pods(removed=removed))

    @cached_property
    def made(self) -> tuple[MadePod, ...]:
        """The pods as their controller makes them.

        Raise ``ManifestError`` where the workload is refused.
        """
        return self.without_own.pods_of(self.workload, where=self.place)

    @cached_property
    def base(self) -> LoadedCluster:
        """The cluster that the pods are asked about in."""
        return self.without_own.with_made(self.made)

    @cached_property
    def pod(self) -> Pod:
        """The first of them, admitted.

        Raise ``ManifestError`` where it is refused.
        """
        return self.base.admit(self.made[0].pod, where=self.place).pod

    @cached_property
    def decision(self) -> Decision:
        """What is decided for it now."""
        return self.base.decide(self.pod)

    @cached_property
    def on_empty_nodes(self) -> Decision:
        """What is decided for it where no other pod is."""
        return self._empty.decide(self.pod)

    @cached_property
    def _empty(self) -> LoadedCluster:
        return self.base.over(self.base.cluster.with_pods(removed=range(len(self.base.pods))))

    def placed(self, n: int, *, without_nodes: frozenset[str] = frozenset()) -> Placed:
        """How many of n pods fit, one after another, each beside those before it.

        ``without_nodes``: nodes that are taken away first.
        """
        cluster = self.base
        if without_nodes:
            nodes = [node for node in cluster.nodes.objects if node.name not in without_nodes]
            cluster = cluster.over(cluster.cluster.with_nodes(nodes))
        n_placed = 0
        for pod in self._copies(n):
            decision = cluster.decide_admitted(cluster.admit(pod, where=self.place).pod)
            if not decision.schedulable:
                return Placed(n_placed, decision, cluster)
            cluster = cluster.with_bound(decision, decision.best[0])
            n_placed += 1
        return Placed(n_placed, None, cluster)

    def surge(self, low: int) -> Decision | None:
        """What is decided for the first pod of a new revision beside the old ones; ``None`` where these do not fit."""
        running = [i for i in self.own if self.cluster.pods.node_row[i] >= 0]
        if len(running) >= low:
            cluster = self.cluster.with_made(self.made)
        else:
            placed = self.placed(low)
            if placed.stopped is not None:
                return None
            cluster = placed.cluster
        pod = self.made[0].pod
        labels = dict(pod.metadata.labels)
        if POD_TEMPLATE_HASH in labels:
            labels[POD_TEMPLATE_HASH] = "next"
        metadata = structs.replace(pod.metadata, name=f"{pod.metadata.name}-next", labels=labels)
        return cluster.decide_admitted(cluster.admit(structs.replace(pod, metadata=metadata), where=self.place).pod)

    def _copies(self, n: int) -> Iterator[Pod]:
        """So many pods, each with a name of its own."""
        left = min(n, MOST)
        for one in self.made_of(n):
            count = min(one.replicas, left)
            names = fresh_names(one.pod, count, self.base.pods.index) if one.replicas > 1 else [one.pod.name][:count]
            for name in names:
                yield structs.replace(one.pod, metadata=structs.replace(one.pod.metadata, name=name))
            left -= count
            if left <= 0:
                return

    def made_of(self, n: int) -> tuple[MadePod, ...]:
        """The pods of the workload where it has n."""
        workload: Any = self.workload
        if isinstance(workload, Pod | DaemonSet | Job | CronJob) or not hasattr(workload.spec, "replicas"):
            return self.made
        scaled = structs.replace(workload, spec=structs.replace(workload.spec, replicas=n))
        return self.without_own.pods_of(scaled, where=self.place)
