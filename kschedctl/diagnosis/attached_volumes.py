"""Volumes that one node can use at a time, and that are attached to another node than that of their pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy, silent_node_advice
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, VolumeAttachment
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.volumes.claims import claim_uses, group_claims, pod_claims

_ONE_NODE: Final = {"ReadWriteOnce"}
_MOST: Final = 3
_RECREATE: Final = '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}'


def attached_elsewhere(cluster: Cluster, pod: Pod, node: str) -> Iterator[Diagnosis]:
    """Yield the volumes of a pod that one node can use at a time, and that are attached to another one than its own.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    pod : Pod
        A pod that has a node and has not started.
    node : str
        The node of the pod.
    """
    for claim in group_claims(cluster, pod_claims(cluster, pod)).bound:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None or not set(volume.spec.access_modes) <= _ONE_NODE:
            continue
        for attachment in cluster.list(VolumeAttachment):
            place = attachment.spec
            if place.source.persistent_volume_name == volume.name and place.node_name != node:
                yield _diagnosis(cluster, pod, claim.name, attachment)
                break


def _diagnosis(cluster: Cluster, pod: Pod, claim: str, attachment: VolumeAttachment) -> Diagnosis:
    node, volume = attachment.spec.node_name, attachment.spec.source.persistent_volume_name
    users = _users(cluster, pod, claim, node)
    row = cluster.nodes.row.get(node)
    if row is None:
        state = f"{node}, which no longer exists"
    elif is_unhealthy(cluster.nodes.objects[row]):
        state = f"{node}, which is {health_problem(cluster.nodes.objects[row])}"
    else:
        state = node
    use = f"; pod {listed(users, most=_MOST)} there {'uses' if len(users) == 1 else 'use'} it" if users else ""
    return Diagnosis(
        rule="volume-attached-elsewhere",
        cause=f"volume {volume} of its claim {claim} is ReadWriteOnce and attached to {state}{use}",
        advice=tuple(_advice(cluster, pod, attachment, users)),
        checks=(f"kubectl get volumeattachment {attachment.name} -o yaml",),
    )


def _advice(cluster: Cluster, pod: Pod, attachment: VolumeAttachment, users: list[str]) -> Iterator[Advice]:
    node, volume = attachment.spec.node_name, attachment.spec.source.persistent_volume_name
    row = cluster.nodes.row.get(node)
    if row is None:
        yield Advice(
            summary=f"delete VolumeAttachment {attachment.name}, as its node {node} no longer exists",
            risk=Risk.MISTAKE,
            untried="the CSI driver detaches the volume",
            command=f"kubectl delete volumeattachment {attachment.name}",
        )
    elif is_unhealthy(cluster.nodes.objects[row]):
        back = f"get {node} back; its kubelet then ends the old pods, and {volume} is detached"
        yield from silent_node_advice(node, back, f", which detaches {volume}")
    elif users:
        own = workload_of(cluster, pod.metadata)
        same = any(_workload(cluster, user) == own for user in users)
        if same and own[0] == "Deployment":
            yield Advice(
                summary=f"set strategy Recreate in Deployment {own[2]}: the old pod then ends first",
                risk=Risk.MISTAKE,
                untried="the Deployment controller deletes the old pod",
                command=f"kubectl patch deployment -n {own[1]} {own[2]} -p '{_RECREATE}'",
            )
        else:
            yield Advice(
                summary=f"if both pods need the data: run them on {node}, or move it to a claim with ReadWriteMany",
                risk=Risk.POD,
                untried="the volume is attached outside the scheduler",
            )
    else:
        yield Advice(
            summary=f"look at the log of CSI driver {attachment.spec.attacher}, which has not detached {volume}",
            risk=Risk.MISTAKE,
            untried="the volume is detached outside the scheduler",
            command=f"kubectl describe volumeattachment {attachment.name}",
        )


def _users(cluster: Cluster, pod: Pod, claim: str, node: str) -> list[str]:
    """Return the pods on a node that use a claim of the pod's namespace."""
    row = cluster.nodes.row.get(node)
    on_node = cluster.pods.on_node(row).tolist() if row is not None else []
    return [
        cluster.pods.key(index)
        for index in on_node
        if cluster.pods.records[index].metadata.namespace == pod.namespace
        and any(use.claim == claim for use in claim_uses(cluster.pods.pod(index)))
    ]


def _workload(cluster: Cluster, key: str) -> tuple[str, str, str]:
    namespace, _, name = key.partition("/")
    return workload_of(cluster, cluster.pods.records[cluster.pods.index[namespace, name]].metadata)
