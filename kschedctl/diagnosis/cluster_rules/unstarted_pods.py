"""Pods that have a node and do not start: their node is unhealthy, a claim is not bound, or the kubelet says why.

Such a pod is in phase Pending, although the scheduler, or ``spec.nodeName``, has given it a node. A pod that was
created a few minutes ago may still pull its images; it is left out.

Operators repair the node or the claim, or what a waiting container's reason names, such as the image. For anything
else, the events of the pod name the reason: volumes, Secrets, the network plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.attached_volumes import attached_elsewhere
from kschedctl.diagnosis.bound_pods import on_unhealthy_node, waiting_containers
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.csi_registration import unregistered_on
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.questions.answers.preempt_words import duration

#: Pods that are younger than ten minutes may be starting.
_PATIENCE: Final = 600
_WAITS: Final = "WaitForFirstConsumer"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the pods that have had a node for more than ten minutes and are still in phase Pending."""
    pods = situation.cluster.pods
    for index, (row, record) in enumerate(zip(pods.node_row.tolist(), pods.records, strict=True)):
        if row < 0 or record.status.phase != "Pending" or record.metadata.deletion_timestamp is not None:
            continue
        age = situation.seconds_since(record.status.start_time or record.metadata.creation_timestamp)
        if age > _PATIENCE:
            yield _diagnosis(situation, pods.pod(index), record.node_name, int(age))


def _diagnosis(situation: ClusterSituation, pod: Pod, node_name: str, age: int) -> ClusterDiagnosis:
    cluster = situation.cluster
    unhealthy = list(on_unhealthy_node(cluster, node_name))
    advice: tuple[Advice, ...] = ()
    checks: tuple[str, ...] = (f"kubectl describe pod -n {pod.namespace} {pod.name}",)
    claims = list(_claims(cluster, pod))
    volumes = [*attached_elsewhere(cluster, pod, node_name), *unregistered_on(cluster, pod, node_name)]
    waiting = list(waiting_containers(pod))
    if unhealthy:
        cause, advice = unhealthy[0].cause, unhealthy[0].advice
    elif claims:
        cause = "; ".join(claims)
        checks = (f"kubectl describe pvc -n {pod.namespace}", *checks)
    elif volumes:
        cause, advice, checks = volumes[0].cause, volumes[0].advice, (*checks, *volumes[0].checks)
    elif waiting:
        cause, advice, checks = waiting[0].cause, waiting[0].advice, waiting[0].checks
    else:
        cause = f"{node_name} has had it for {duration(age)} and has not started it; only its events say why"
    return ClusterDiagnosis(
        rule="unstarted-pod",
        cause=cause,
        advice=advice,
        checks=checks,
        kind=Pod.__name__,
        namespace=pod.namespace,
        name=pod.name,
        state=f"does not start on {node_name}",
        pods=(pod.key,),
        since=pod.metadata.creation_timestamp,
    )


def _claims(cluster: Cluster, pod: Pod) -> Iterator[str]:
    """Yield the problems of a pod's claims."""
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        if source is None:
            continue
        claim = cluster.get(PersistentVolumeClaim, source.claim_name, pod.namespace)
        if claim is None:
            hidden = cluster.is_forbidden(PersistentVolumeClaim, pod.namespace)
            if not hidden and any(True for _ in cluster.list(PersistentVolumeClaim)):
                yield f"its claim {source.claim_name} does not exist"
        elif not claim.spec.volume_name:
            yield f"its claim {claim.name} is not bound{_unbound(cluster, claim)}"


def _unbound(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    name = claim.spec.storage_class_name or ""
    storage_class = cluster.get(StorageClass, name)
    if name and storage_class is None and any(True for _ in cluster.list(StorageClass)):
        return f", and its StorageClass {name} does not exist"
    waits = storage_class is not None and storage_class.volume_binding_mode == _WAITS
    if waits and _SELECTED_NODE not in claim.metadata.annotations:
        return f": {name} binds when the scheduler places a pod, and this pod's nodeName was set without the scheduler"
    return ""
