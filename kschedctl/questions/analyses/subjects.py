"""A pod that a question is about, and the pods of a workload that one is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kschedctl.common.findings import Where
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet
from kschedctl.questions.answers.explain import WorkloadData

if TYPE_CHECKING:
    from kschedctl.trials.loaded_cluster import LoadedCluster
    from kschedctl.trials.whatif.pods import WorkloadPods

#: Option values by option name; together they name exactly one pod or workload.
Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PodSubject:
    """A pod that a question is about.

    Attributes
    ----------
    arguments : mapping of str to object
        The options that name only this pod, such as ``{"filename": ("web.yaml",)}``; empty if its name does.
    where : Subject, Location or str
        The place in a manifest that the pod was read from; empty for a pod of the cluster.
    workload : WorkloadData or None
        The workload that creates the pod, if the request names the workload instead of the pod.
    node : str
        The only node that the pod is for, if a DaemonSet creates it.
    replicas : int
        The number of pods that differ only in their name, this one included.
    """

    pod: Pod
    arguments: Arguments = field(default_factory=dict)
    where: Where = ""
    workload: WorkloadData | None = None
    node: str = ""
    replicas: int = 1

    @property
    def key(self) -> str:
        """The pod's name, as namespace/name."""
        return self.pod.key


def pods_asked_about(cluster: LoadedCluster, workload: ApiObject) -> WorkloadPods:
    """Return the pods of a workload of the cluster; if none is pending or missing, an additional one is missing.

    A running pod of a DaemonSet counts as missing: the question is about the pod that replaces it.

    Raises
    ------
    ManifestError
        If an API server would refuse the workload.
    """
    # Most questions name no workload.
    from kschedctl.controllers.workloads.pods import node_of
    from kschedctl.trials.whatif.pods import workload_pods

    where = workload.ref
    found = workload_pods(cluster.cluster, workload, where=where)
    if isinstance(workload, DaemonSet):
        pending = {node_of(cluster.pods.records[i].spec) for i in found.pending}
        missing = tuple(one for one in cluster.pods_of(workload, where=where) if one.node not in pending)
        return replace(found, running=[], missing=missing, wanted=len(found.pending) + len(missing))
    if found.pending or found.missing:
        return found
    return workload_pods(cluster.cluster, workload, where=where, more=1)
