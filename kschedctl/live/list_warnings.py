"""Warnings about kinds that the user is not allowed to list, with the effect on the results."""

from __future__ import annotations

from typing import Final

_PLACEMENT: Final = "pods that use them are judged without them"
_EXPANSION: Final = "those of the cluster cannot be named"
_SPREADING: Final = "default spreading does not see them, so scores can differ"
_EFFECTS: Final = {
    "Pod": "all nodes count as empty, so whatever is said of free resources, affinity and spreading is wrong",
    "Namespace": "affinity that selects namespaces by their labels finds none",
    "Service": _SPREADING,
    "ReplicationController": _SPREADING,
    "ReplicaSet": _SPREADING,
    "StatefulSet": _SPREADING,
    "PersistentVolume": "where the volume of a bound claim can be reached is not known",
    "PersistentVolumeClaim": "pods with claims count as if the claims were not there",
    "StorageClass": "whether a volume can be made for a claim is not known",
    "CSINode": "limits on attached volumes are not counted",
    "CSIDriver": "whether a driver tells its free capacity is not known",
    "CSIStorageCapacity": "free storage capacity is not known",
    "VolumeAttachment": "attached volumes of pods that have gone are not counted",
    "ResourceClaim": "pods with claims for devices count as if the claims were not there, and all devices as free",
    "ResourceClaimTemplate": "claims that are made from a template are not known",
    "ResourceSlice": "no node counts as having devices",
    "DeviceClass": "claims count as asking for classes that do not exist",
    "DeviceTaintRule": "taints that rules put on devices are not known",
    "PodDisruptionBudget": "preemption counts no budget as violated",
    "PriorityClass": "the priority of new pods is not known",
    "RuntimeClass": "overhead, node selector and tolerations of new pods with a runtime class are not known",
    "LimitRange": "new pods do not get the requests and limits that they default to",
    "Lease": "who leads is not known",
    "LeaseCandidate": "who would lead next is not known",
    "ResourceQuota": "whether a quota would refuse a new pod is not known",
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
    'csinodes may not be listed by this user: limits on attached volumes are not counted'
    """
    effect = _EFFECTS.get(kind, _EXPANSION if kind in _EXPANDED else _PLACEMENT)
    return f"{plural} may not be listed by this user: {effect}"
