"""The members of a group during an attempt, in derived clusters: assumed on a node, where the next member sees them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod


def assumed(cluster: Cluster, pod: Pod, node: str) -> Cluster:
    """Return the cluster with a pod on a node and without its nomination."""
    return all_assumed(cluster, [(pod, node)])


def all_assumed(cluster: Cluster, pods: Iterable[tuple[Pod, str]]) -> Cluster:
    """Return the cluster with pods on nodes, in this order, and without their nominations."""
    return cluster.with_pods(
        added=[
            replace(pod, spec=replace(pod.spec, node_name=node), status=replace(pod.status, nominated_node_name=""))
            for pod, node in pods
        ]
    )


def without_nominations(cluster: Cluster, pods: Iterable[Pod]) -> Cluster:
    """Return the cluster in which pods do not count on their nominated nodes.

    kube-scheduler reads nominated pods from its queue, and the members of a group are not there while it is tried.
    """
    nominated = [pod for pod in pods if pod.status.nominated_node_name]
    if not nominated:
        return cluster
    return cluster.with_pods(
        added=[replace(pod, status=replace(pod.status, nominated_node_name="")) for pod in nominated]
    )
