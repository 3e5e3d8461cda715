"""A pod with ``spec.nodeName`` has a claim that waits for its first consumer, and never gets a volume.

A claim of a class with WaitForFirstConsumer gets its volume when the scheduler has chosen a node: the scheduler writes
the node into the claim (annotation ``volume.kubernetes.io/selected-node``), and the provisioner reads it there. A pod
that already names its node never passes the scheduler. So the claim waits forever, and the kubelet waits for the claim.

Operators replace nodeName by a nodeSelector with the node's hostname label: the pod goes to the same node, through the
scheduler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.volumes.claims import (
    SELECTED_NODE,
    claim_class,
    group_claims,
    is_static,
    pod_claims,
    storage_class_of,
)


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the waiting claims of a pod that has a node and did not pass the scheduler."""
    pod, cluster = situation.pod, situation.cluster
    node = situation.node or pod.spec.node_name
    # The kubelet starts a pod only when all its claims are bound.
    if not node or pod.status.phase not in ("", "Pending") or pod.metadata.deletion_timestamp is not None:
        return
    delayed = group_claims(cluster, pod_claims(cluster, pod)).delayed
    waiting = {claim.name: claim for claim in delayed if SELECTED_NODE not in claim.metadata.annotations}
    if not waiting:
        return
    names, one = listed(list(waiting)), len(waiting) == 1
    claims = f"claim {names} waits for its first consumer" if one else f"claims {names} wait for their first consumer"
    row = cluster.nodes.row.get(node)
    labels = cluster.nodes.objects[row].metadata.labels if row is not None else {}
    hostname = labels.get(HOSTNAME, node)
    namespace = pod.namespace
    kind, _, workload = situation.workload
    whose = f"pod {pod.name}" if kind == "Pod" else f"the template of {kind} {workload}"
    yield Diagnosis(
        rule="claim-without-scheduler",
        cause=(
            f"{claims}, and spec.nodeName {node} bypasses the scheduler, which would choose the node for "
            f"{'its volume' if one else 'their volumes'}"
        ),
        evidence=tuple(
            f"class {claim_class(claim)} of claim {claim.name} waits for the first consumer (WaitForFirstConsumer)"
            for claim in waiting.values()
        ),
        advice=(
            Advice(
                summary=f"use nodeSelector {HOSTNAME}: {hostname} instead of nodeName in {whose}, and recreate the pod",
                risk=Risk.POD,
                untried="the node of a pod cannot be changed",
                command=f"# in {whose}: remove nodeName; nodeSelector: {{{HOSTNAME}: {hostname}}}",
            ),
            *_by_hand(situation, waiting.values(), node),
        ),
        checks=(f"kubectl describe pvc -n {namespace} {' '.join(waiting)}",),
    )


def _by_hand(situation: Situation, claims: Collection[PersistentVolumeClaim], node: str) -> Iterator[Advice]:
    """Yield the advice to do the scheduler's part; it only helps if a provisioner reads the annotation."""
    classes = [storage_class_of(situation.cluster, claim) for claim in claims]
    if any(one is None or is_static(one) for one in classes):
        return
    names = " ".join(claim.name for claim in claims)
    yield Advice(
        summary=f"for once: do the scheduler's part, annotation {SELECTED_NODE}={node} on the claim",
        risk=Risk.SHARED,
        untried="the provisioner then creates the volume",
        command=f"kubectl annotate pvc -n {situation.pod.namespace} {names} {SELECTED_NODE}={node}",
    )
