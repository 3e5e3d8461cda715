"""Matching of tolerations and taints (core/v1 ``Toleration``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kschedctl.objects.core import Taint
from kschedctl.objects.pod import Toleration

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
#: The key prefix of taints that Kubernetes itself adds to nodes.
OWN_TAINTS: Final = "node.kubernetes.io/"
#: The keys of the taints of the control plane; ``master`` is the one before Kubernetes 1.24.
CONTROL_PLANE_TAINTS: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
#: The key of the taint of nodes for the add-ons of the cluster, such as the system pool of AKS.
CRITICAL_ADDONS_ONLY: Final = "CriticalAddonsOnly"
#: The key prefixes of taints that protect pods from a node: those that Kubernetes, a cloud provider, an agent of the
#: node or a node autoscaler manages, and those of the control plane. No ordinary pod tolerates them. If a user removes
#: one that is managed, the taint is added again, or the node is deleted.
UNSAFE_TAINTS: Final = (
    OWN_TAINTS,
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
    "node.cilium.io/",
    "ebs.csi.aws.com/agent-not-ready",
    "efs.csi.aws.com/agent-not-ready",
    *CONTROL_PLANE_TAINTS,
)
#: The taint of a cordoned node; the node controller adds it to every node with ``spec.unschedulable``.
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration tolerates a taint. An empty key or effect of the toleration matches any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Report whether any of the tolerations tolerates a taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
