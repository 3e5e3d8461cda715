"""Which kinds scheduling reads, and the type of each: the one table that readers and the live client share."""

from __future__ import annotations

from typing import Final

from kschedctl.api.classes import PriorityClass, RuntimeClass
from kschedctl.api.core import Namespace, Node, Service
from kschedctl.api.device import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kschedctl.api.limits import LimitRange, ResourceQuota
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.api.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodDisruptionBudget,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: API group (empty for core) and kind -> type. Versions of a group are read alike.
KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {
    ("", "Node"): Node,
    ("", "Pod"): Pod,
    ("", "Namespace"): Namespace,
    ("", "Service"): Service,
    ("", "ReplicationController"): ReplicationController,
    ("", "PodTemplate"): PodTemplate,
    ("", "LimitRange"): LimitRange,
    ("", "ResourceQuota"): ResourceQuota,
    ("", "PersistentVolume"): PersistentVolume,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("apps", "Deployment"): Deployment,
    ("apps", "ReplicaSet"): ReplicaSet,
    ("apps", "StatefulSet"): StatefulSet,
    ("apps", "DaemonSet"): DaemonSet,
    ("batch", "Job"): Job,
    ("batch", "CronJob"): CronJob,
    ("policy", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass,
    ("node.k8s.io", "RuntimeClass"): RuntimeClass,
    ("storage.k8s.io", "StorageClass"): StorageClass,
    ("storage.k8s.io", "CSINode"): CSINode,
    ("storage.k8s.io", "CSIDriver"): CSIDriver,
    ("storage.k8s.io", "CSIStorageCapacity"): CSIStorageCapacity,
    ("storage.k8s.io", "VolumeAttachment"): VolumeAttachment,
    ("storage.k8s.io", "VolumeAttributesClass"): VolumeAttributesClass,
    ("resource.k8s.io", "ResourceClaim"): ResourceClaim,
    ("resource.k8s.io", "ResourceClaimTemplate"): ResourceClaimTemplate,
    ("resource.k8s.io", "ResourceSlice"): ResourceSlice,
    ("resource.k8s.io", "DeviceClass"): DeviceClass,
    ("resource.k8s.io", "DeviceTaintRule"): DeviceTaintRule,
}


def kind_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """The type of a kind that scheduling reads, or ``None`` for any other.

    Parameters
    ----------
    api_version : str
        As objects carry it, such as ``v1`` or ``storage.k8s.io/v1``.
    kind : str
        Such as ``Pod``.
    """
    group, slash, _ = api_version.rpartition("/")
    return KINDS.get((group if slash else "", kind))
