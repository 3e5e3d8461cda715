"""Pods that are being deleted at the start of a simulation.

The deletion timestamp already includes the grace period: the kubelet has stopped the pod by then. The kubelet of a node
that is unreachable confirms nothing, so the pods of that node stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.ownership import wanted_replicas
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import DaemonSet, StatefulSet
from kschedctl.trials.simulate.pods import pod_at
from kschedctl.trials.simulate.world import is_recreated_after_deletion

_UNREACHABLE: Final = "node.kubernetes.io/unreachable"


def ending_pods(cluster: Cluster) -> Iterator[Pod]:
    """Yield the pods that have a deletion timestamp, except those on nodes that are unreachable."""
    pods = cluster.pods
    for index in np.flatnonzero(pods.class_terminating[pods.class_id]).tolist():
        row = int(pods.node_row[index])
        if row < 0 or not _is_unreachable(cluster.nodes.objects[row]):
            yield pod_at(cluster, index)


def is_wanted(cluster: Cluster, pod: Pod) -> bool:
    """Report whether the pod's StatefulSet or DaemonSet still wants it, as far as the snapshot shows.

    A StatefulSet that was scaled down does not want its last pods. A controller that the snapshot lacks is taken to
    want its pods, unless other controllers of its kind are there. Other controllers have replaced the pod already.
    """
    owner = pod.metadata.controller
    if owner is None or not is_recreated_after_deletion(pod):
        return False
    kind: type[StatefulSet | DaemonSet] = StatefulSet if owner.kind == StatefulSet.__name__ else DaemonSet
    stored = cluster.get(kind, owner.name, pod.namespace)
    if stored is None:
        return next(iter(cluster.list(kind)), None) is None
    if stored.metadata.deletion_timestamp is not None:
        return False
    return not isinstance(stored, StatefulSet) or _has_ordinal(stored, pod)


def _has_ordinal(stateful_set: StatefulSet, pod: Pod) -> bool:
    start, ordinal = stateful_set.spec.ordinals.start, pod.name.rpartition("-")[2]
    return ordinal.isdecimal() and start <= int(ordinal) < start + wanted_replicas(stateful_set)


def _is_unreachable(node: Node) -> bool:
    """Report whether the node's kubelet has stopped to report, by the condition and the taint that then are set."""
    ready = next((each for each in node.status.conditions if each.type == "Ready"), None)
    return (ready is not None and ready.status == "Unknown") or any(t.key == _UNREACHABLE for t in node.spec.taints)
