"""Warnings about kinds that the user is not allowed to list, with the effect on the results."""

from __future__ import annotations

from typing import Final

_PLACEMENT: Final = "they are ignored for pods that use them"
_EXPANSION: Final = "they cannot be named in a request"
_SPREADING: Final = "default spreading ignores them, so scores can differ"
_EFFECTS: Final = {
    "Pod": "all nodes count as empty, so free resources, affinity and spreading are wrong",
    "Namespace": "affinity with a namespaceSelector selects no namespaces",
    "Service": _SPREADING,
    "ReplicationController": _SPREADING,
    "ReplicaSet": _SPREADING,
    "StatefulSet": _SPREADING,
    "PersistentVolume": "the nodes that can access the volume of a bound claim are unknown",
    "PersistentVolumeClaim": "pods with claims are scheduled as if they had none",
    "StorageClass": "whether a volume can be provisioned for a claim is unknown",
    "CSINode": "limits on attached volumes are not counted",
    "CSIDriver": "whether a driver reports its free capacity is unknown",
    "CSIStorageCapacity": "free storage capacity is unknown",
    "VolumeAttachment": "attached volumes of deleted pods are not counted",
    "ResourceClaim": "pods with claims for devices are scheduled as if they had none, and all devices count as free",
    "ResourceClaimTemplate": "claims made from a template are unknown",
    "ResourceSlice": "nodes count as having no devices",
    "DeviceClass": "the device classes of claims count as missing",
    "DeviceTaintRule": "device taints from rules are unknown",
    "PodDisruptionBudget": "preemption counts no budget as violated",
    "PodGroup": "pods of a group are scheduled as if their group did not exist",
    "Workload": "the templates of pod groups are unknown",
    "CompositePodGroup": "groups of pod groups are unknown",
    "PriorityClass": "the priority of new pods is unknown",
    "RuntimeClass": "overhead, node selector and tolerations of new pods with a runtime class are unknown",
    "LimitRange": "new pods do not get default requests and limits",
    "Lease": "the leader is unknown",
    "LeaseCandidate": "the next leader is unknown",
    "ResourceQuota": "whether a quota would reject a new pod is unknown",
}
_EXPANDED: Final = frozenset({"Deployment", "DaemonSet", "Job", "CronJob", "PodTemplate"})


def refusal_warning(kind: str, plural: str) -> str:
    """Return the warning that a kind could not be listed, with the effect; the text does not name the cluster.

    Parameters
    ----------
    kind, plural : str
        The kind, and the name of its resource in RBAC rules.

    Examples
    --------
    >>> refusal_warning("CSINode", "csinodes")
    'csinodes cannot be listed by this user: limits on attached volumes are not counted'
    """
    effect = _EFFECTS.get(kind, _EXPANSION if kind in _EXPANDED else _PLACEMENT)
    return f"{plural} cannot be listed by this user: {effect}"
