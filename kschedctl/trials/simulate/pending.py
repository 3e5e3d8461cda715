"""The pending pods of a cluster, in the order in which they are tried."""

from __future__ import annotations

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.objects.pod import Pod


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


def newly_pending_pods(before: Cluster, after: Cluster) -> list[str]:
    """Return the pods that are pending in a cluster and were not before, as ``namespace/name``."""
    old = set(_pending_keys(before))
    return [key for key in _pending_keys(after) if key not in old]


def _pending_keys(cluster: Cluster) -> list[str]:
    return [cluster.pods.key(index) for index in np.flatnonzero(cluster.pods.node_row == PENDING).tolist()]
