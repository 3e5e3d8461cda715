"""The trial of one workload: whether a pod fits, also on empty nodes, how many pods fit, and if a rollout can begin."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from msgspec import structs

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, Location
from kschedctl.controllers.admission.changes import Admitted
from kschedctl.controllers.workloads.ownership import MAKERS, pods_made_by
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.validation.pod_rejections import in_workload
from kschedctl.objects.well_known import POD_TEMPLATE_HASH
from kschedctl.objects.workload import CronJob, DaemonSet, Job
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.pods import fresh_names

#: The maximum number of replicas that are tried.
MOST: Final = 200


class PlacementResult(NamedTuple):
    """The result of placing pods one after another."""

    #: The number of pods that fit.
    n: int
    #: The decision for the first pod that does not fit; ``None`` if all fit.
    stopped: Decision | None
    #: The cluster with the pods that fit.
    cluster: LoadedCluster


class Trial:
    """A trial: a workload and a cluster from which the workload's own pods are removed.

    Members of a PodGroup are tried without their group, one by one: a group needs nodes on which each of them fits.

    Args:
        cluster: The cluster, with the workload's own pods if it has any.
    """

    def __init__(self, cluster: LoadedCluster, workload: ApiObject, place: Location) -> None:
        self.cluster = cluster
        self.workload = workload
        self.place = place

    @cached_property
    def refusals(self) -> tuple[Finding, ...]:
        """The reasons why the API server refuses the workload or its pods, apart from quotas; empty if it does not."""
        try:
            if not self.made:
                return ()
        except InputError as error:
            return error.findings
        try:
            _ = self.pod
        except InputError as error:
            kind = type(self.workload).__name__
            return error.findings if kind == "Pod" else tuple(in_workload(each, kind) for each in error.findings)
        return ()

    @cached_property
    def own(self) -> list[int]:
        """The indices of the workload's own pods in the cluster."""
        kind = type(self.workload)
        if kind is Pod:
            index = self.cluster.pods.index.get((self.workload.namespace, self.workload.name))
            return [] if index is None else [index]
        if kind not in MAKERS:
            return []
        return pods_made_by(self.cluster.cluster, kind, self.workload.namespace, self.workload.name)

    @cached_property
    def without_own(self) -> LoadedCluster:
        """The cluster without the workload's own pods."""
        return self.cluster.over(self.cluster.cluster.with_pods(removed=self.own)) if self.own else self.cluster

    @cached_property
    def made(self) -> tuple[MadePod, ...]:
        """The pods as their controller creates them.

        Raises ManifestError if the API server refuses the workload.
        """
        return self._without_group(self.workload)

    @cached_property
    def base(self) -> LoadedCluster:
        """The cluster in which the pods are tried: without the workload's own pods, with the claims of the new ones."""
        return self.without_own.with_made(self.made)

    @property
    def pod(self) -> Pod:
        """The workload's first pod, after admission; errors are those of ``admitted``."""
        return self.admitted.pod

    @cached_property
    def admitted(self) -> Admitted:
        """The admission of the workload's first pod.

        Raises ManifestError if the API server refuses the pod.
        """
        return self.base.admit(self.made[0].pod, where=self.place)

    @cached_property
    def decision(self) -> Decision:
        """The decision for the first pod in the cluster as it is."""
        return self.base.decide(self.pod)

    @cached_property
    def on_empty_nodes(self) -> Decision:
        """The decision for the first pod in the cluster without any other pod."""
        return self.base.over(self.base.cluster.with_pods(removed=range(len(self.base.pods)))).decide(self.pod)

    def placed(self, n: int, *, without_nodes: frozenset[str] = frozenset()) -> PlacementResult:
        """Place `n` pods one after another, each beside the pods before it, until one does not fit.

        Args:
            n: The number of pods; at most 200 are tried.
        """
        cluster = self.base
        if without_nodes:
            nodes = [node for node in cluster.nodes.objects if node.name not in without_nodes]
            cluster = cluster.over(cluster.cluster.with_nodes(nodes))
        n_placed = 0
        for pod in self._copies(n):
            decision = cluster.decide_admitted(cluster.admit(pod, where=self.place).pod)
            if not decision.schedulable:
                return PlacementResult(n_placed, decision, cluster)
            cluster = cluster.with_bound(decision, decision.best[0])
            n_placed += 1
        return PlacementResult(n_placed, None, cluster)

    def surge(self, low: int) -> Decision | None:
        """Return the decision for a pod of a new revision beside `low` old ones; ``None`` if those do not fit."""
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
        """Yield `n` pods, at most 200, each with a distinct name."""
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
        """Return the workload's pods if it is scaled to `n` replicas."""
        workload: Any = self.workload
        if isinstance(workload, Pod | DaemonSet | Job | CronJob) or not hasattr(workload.spec, "replicas"):
            return self.made
        scaled = structs.replace(workload, spec=structs.replace(workload.spec, replicas=n))
        return self._without_group(scaled)

    def _without_group(self, workload: ApiObject) -> tuple[MadePod, ...]:
        """Return the pods that a controller creates for a workload, without their PodGroup."""
        made = self.without_own.pods_of(workload, where=self.place)
        return tuple(
            replace(one, pod=structs.replace(one.pod, spec=structs.replace(one.pod.spec, scheduling_group=None)))
            for one in made
        )
