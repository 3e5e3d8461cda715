"""The usage of a workload's pods, from the PodMetrics of a snapshot."""

from __future__ import annotations

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PodMetrics
from kschedctl.objects.resources import parse_resources, scheduler_units


def highest_usage(cluster: Cluster, pod: Pod, resource: str) -> int | None:
    """Return the highest usage of a resource by a pod of the same workload.

    Parameters
    ----------
    cluster : Cluster
        The cluster; only snapshots from files have PodMetrics.
    pod : Pod
        The pod.
    resource : str
        The resource.

    Returns
    -------
    int or None
        Milli-CPU or bytes; ``None`` if the snapshot has no usage of a pod of the workload.
    """
    workload, pods = workload_of(cluster, pod.metadata), cluster.pods
    usages = []
    for metrics in cluster.list(PodMetrics):
        index = pods.index.get((metrics.namespace, metrics.name))
        if index is None or workload_of(cluster, pods.records[index].metadata) != workload:
            continue
        amounts = [scheduler_units(parse_resources(each.usage)).get(resource) for each in metrics.containers]
        if any(amount is not None for amount in amounts):
            usages.append(sum(amount or 0 for amount in amounts))
    return max(usages, default=None)
