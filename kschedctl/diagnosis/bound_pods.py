"""Pods that are bound to a node and do not run there, as far as the snapshot shows why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import LOST
from kschedctl.common.wording import listed, similar
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy
from kschedctl.objects.pod import Pod, PodSpec, PodStatus
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.remedy import Risk

#: The kubelet's reasons for a container that is not its turn yet, or that is about to start.
_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
#: The kubelet's reasons for an image that it cannot get (pkg/kubelet/images).
_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
)


def pods_by_lost_node(cluster: Cluster) -> dict[str, list[int]]:
    """Return the indices of the pods that are bound to nodes that do not exist, by the name of the node.

    It is empty if the snapshot seems to lack nodes: if more nodes are missing than it has.
    """
    lost = _lost(cluster)
    return lost if len(lost) <= len(cluster.nodes) else {}


def is_lost(cluster: Cluster, node: str) -> bool:
    """Report whether the node of a pod does not exist, although the snapshot does not seem to lack nodes."""
    return node not in cluster.nodes.row and len({*_lost(cluster), node}) <= len(cluster.nodes)


def _lost(cluster: Cluster) -> dict[str, list[int]]:
    pods = cluster.pods
    out: dict[str, list[int]] = {}
    for index in np.flatnonzero(pods.node_row == LOST).tolist():
        out.setdefault(pods.records[index].node_name, []).append(index)
    return out


def binding(cluster: Cluster, pod: Pod, node: str) -> str:
    """Return the relation of a pod to the node that it is bound to, as a predicate such as ``runs on n1``."""
    if is_lost(cluster, node):
        return f"is bound to {node}, which does not exist"
    return f"is bound to {node}, but has not started" if pod.status.phase == "Pending" else f"runs on {node}"


def is_misnamed(pod: Pod) -> bool:
    """Report whether a pod on a node that does not exist was created with that nodeName, and never ran there."""
    never_started = pod.status.phase in ("", "Pending") and pod.status.start_time is None
    return never_started and pod.metadata.controller is None and pod.metadata.deletion_timestamp is None


def misnamed_node(cluster: Cluster, pod: Pod, node: str) -> Diagnosis:
    """Return the diagnosis of a pod whose nodeName was written by hand and names no node."""
    close = similar(node, cluster.nodes.names)
    meant = f" (did you mean {listed(close, 'or')}?)" if close else ""
    other = close[0] if close else "NODE"
    row = cluster.nodes.row.get(other)
    hostname = cluster.nodes.objects[row].metadata.labels.get(HOSTNAME, other) if row is not None else other
    return Diagnosis(
        rule="misnamed-node",
        cause=f"nodeName {node} is no node of the cluster{meant}",
        advice=(
            Advice(
                summary=f"recreate {pod.key} with nodeName {other}, or with nodeSelector {HOSTNAME}: {hostname}",
                risk=Risk.MISTAKE,
                untried="the node of a pod cannot be changed",
                command=f"# in pod {pod.name}: nodeSelector: {{{HOSTNAME}: {hostname}}} instead of nodeName: {node}",
            ),
        ),
        checks=("kubectl get nodes",),
    )


def on_unhealthy_node(cluster: Cluster, node: str) -> Iterator[Diagnosis]:
    """Yield the problem of a pod's node."""
    row = cluster.nodes.row.get(node)
    if row is not None and is_unhealthy(cluster.nodes.objects[row]):
        yield Diagnosis(
            rule="unstarted-pod",
            cause=f"its node {node} is {health_problem(cluster.nodes.objects[row])}",
            advice=(
                Advice(
                    summary=f"get {node} ready again, or replace it",
                    risk=Risk.MISTAKE,
                    untried="the kubelet runs on the machine",
                    command=f"kubectl describe node {node}",
                ),
            ),
        )


def waiting_containers(pod: Pod) -> Iterator[Diagnosis]:
    """Yield the reason for which the first waiting container of a pod does not start, as its kubelet reports it."""
    for container, reason in _waiting(pod.status):
        describe = f"kubectl describe pod -n {pod.namespace} {pod.name}"
        image = _image(pod.spec, container)
        cure = Advice(
            summary=f"correct the image {image} of container {container}, or the Secret that it is pulled with",
            risk=Risk.MISTAKE,
            untried="the kubelet pulls images",
            command=describe,
        )
        yield Diagnosis(
            rule="unstarted-pod",
            cause=f"scheduling is done; container {container} waits: {reason}",
            advice=(cure,) if reason in _IMAGE else (),
            checks=(describe,),
        )
        return


def _waiting(status: PodStatus) -> Iterator[tuple[str, str]]:
    """Yield the name of each container that waits for something else than its turn, and the reason."""
    for container in (*status.init_container_statuses, *status.container_statuses):
        waiting = container.state.waiting
        if waiting is not None and waiting.reason not in _STARTING:
            yield container.name, waiting.reason


def _image(spec: PodSpec, name: str) -> str:
    return next((each.image for each in (*spec.init_containers, *spec.containers) if each.name == name), "")
