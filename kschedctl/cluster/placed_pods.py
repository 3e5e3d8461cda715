"""Pods of a changing cluster: with a node, with or without a nomination."""

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.objects.pod import Pod


def age(pod: Pod) -> float:
    """Return the creation time of a pod, in seconds since the epoch; infinite if the pod has none."""
    created = pod.metadata.creation_timestamp
    return created.timestamp() if created is not None else float("inf")


def on_node(pod: Pod, node: str, *, nominated: bool = False) -> Pod:
    """Return the pod with a node, and without its nomination unless ``nominated`` is set."""
    status = pod.status if nominated else replace(pod.status, nominated_node_name="")
    return replace(pod, spec=replace(pod.spec, node_name=node), status=status)


def without_nomination(pod: Pod) -> Pod:
    """Return the pod without a nominated node."""
    return replace(pod, status=replace(pod.status, nominated_node_name=""))


def nominated_to(pod: Pod, node: str) -> Pod:
    """Return the pod without a node, nominated to one."""
    return replace(pod, spec=replace(pod.spec, node_name=""), status=replace(pod.status, nominated_node_name=node))


def pod_at(cluster: Cluster, index: int) -> Pod:
    """Return a pod of the cluster, with its node."""
    pods = cluster.pods
    return on_node(pods.pod(index), pods.records[index].node_name, nominated=True)


def pods_on(cluster: Cluster, node: str) -> list[Pod]:
    """Return the pods on a node, terminating or not."""
    row = cluster.nodes.row.get(node)
    return [pod_at(cluster, index) for index in cluster.pods.on_node(row).tolist()] if row is not None else []


def is_on(cluster: Cluster, pod: Pod, node: str) -> bool:
    """Report whether a pod is on a node, terminating or not."""
    index = cluster.pods.index.get((pod.namespace, pod.name))
    return index is not None and cluster.pods.records[index].node_name == node


def pending_pods(cluster: Cluster) -> list[int]:
    """Return the indices into ``Cluster.pods`` of the pods without a node: highest priority first, then oldest."""
    pods = cluster.pods
    return sorted(np.flatnonzero(pods.node_row == PENDING).tolist(), key=lambda index: queue_order(pods.pod(index)))


def scheduler_message(pod: Pod) -> str:
    """Return the message of kube-scheduler for a pending pod, from its condition PodScheduled; empty without one."""
    return next((each.message for each in pod.status.conditions if each.type == "PodScheduled"), "")


def queue_order(pod: Pod) -> tuple[int, float]:
    """Return the sort key of a pending pod: highest priority first, then oldest; without a creation time, last."""
    created = pod.metadata.creation_timestamp
    return -(pod.spec.priority or 0), created.timestamp() if created is not None else float("inf")
