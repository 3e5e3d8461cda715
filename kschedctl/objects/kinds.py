"""The kinds that scheduling reads and their types: the table shared by file readers and the live client."""

from __future__ import annotations

from typing import Final

from kschedctl.objects.classes import PriorityClass, RuntimeClass
from kschedctl.objects.coordination import ConfigMap, Endpoints, Lease, LeaseCandidate
from kschedctl.objects.core import Namespace, Node, Service
from kschedctl.objects.device import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kschedctl.objects.limits import LimitRange, ResourceQuota
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.metrics import PodMetrics
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup, Workload
from kschedctl.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.workload import (
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

#: The type by API group (empty for core) and kind. All versions of a group use the same type.
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
    ("scheduling.k8s.io", "PodGroup"): PodGroup,
    ("scheduling.k8s.io", "Workload"): Workload,
    ("scheduling.k8s.io", "CompositePodGroup"): CompositePodGroup,
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
    ("coordination.k8s.io", "Lease"): Lease,
    ("coordination.k8s.io", "LeaseCandidate"): LeaseCandidate,
}
#: The kinds that can have a leader election record as an annotation. They are read only from files and never requested
#: from an API server.
LOCK_KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {("", "ConfigMap"): ConfigMap, ("", "Endpoints"): Endpoints}
#: The kinds that are read only from files and never captured: they say nothing about scheduling decisions.
FILE_KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {("metrics.k8s.io", "PodMetrics"): PodMetrics}
#: The kinds that a captured snapshot can contain.
CAPTURED_KINDS: Final = {**KINDS, **LOCK_KINDS}


def kind_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that scheduling reads, or ``None`` for any other kind.

    Parameters
    ----------
    api_version : str
        The object's ``apiVersion``, such as ``v1`` or ``storage.k8s.io/v1``.
    kind : str
        The object's ``kind``, such as ``Pod``.
    """
    return KINDS.get((_group(api_version), kind))


def file_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that is read only from files, or ``None`` for any other kind.

    Parameters
    ----------
    api_version, kind : str
        The same parameters as those of ``kind_type``.
    """
    return FILE_KINDS.get((_group(api_version), kind))


def lock_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that can have a leader election record, or ``None`` for any other kind.

    Parameters
    ----------
    api_version, kind : str
        The same parameters as those of ``kind_type``.
    """
    return LOCK_KINDS.get((_group(api_version), kind))


def _group(api_version: str) -> str:
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""
