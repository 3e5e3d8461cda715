"""Which tolerations tolerate which taint (core/v1 ``Toleration``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kschedctl.api.core import Taint
from kschedctl.api.pod import Toleration

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
#: What the keys begin with of taints that Kubernetes itself puts on nodes.
OWN_TAINTS: Final = "node.kubernetes.io/"
#: The same, and of what adds and removes nodes: who takes such a taint away will see it come back, or the node go.
UNSAFE_TAINTS: Final = (
    OWN_TAINTS,
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
)
#: The taint that cordoning stands for; the node controller puts it on every cordoned node.
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration tolerates a taint. An empty key or effect stands for any."""
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
    """Whether any of the tolerations tolerates a taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
