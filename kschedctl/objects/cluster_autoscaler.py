"""Objects that Cluster Autoscaler reads or writes: scalable sets of machines, and settings of OpenShift's operator.

Sets of machines are those of Cluster API (cluster.x-k8s.io) and of OpenShift (machine.openshift.io).
"""

from typing import Final

from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, Labels

#: The ConfigMap in which Cluster Autoscaler reports its node groups, under the key ``status``.
STATUS_NAMESPACE: Final = "kube-system"
STATUS_NAME: Final = "cluster-autoscaler-status"
#: The annotation with which a pod asks to be left where it is ("false").
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LAST_UPDATED: Final = "cluster-autoscaler.kubernetes.io/last-updated"

#: The annotations of a Node of Cluster API that name its set of machines, and that of OpenShift that names its machine.
OWNER_NAME: Final = "cluster.x-k8s.io/owner-name"
OWNER_KIND: Final = "cluster.x-k8s.io/owner-kind"
MACHINE: Final = "machine.openshift.io/machine"

#: The annotations of a set of machines with its sizes; the last prefix is that of old versions of Cluster API.
_SIZE_PREFIXES: Final = ("cluster.x-k8s.io/", "machine.openshift.io/", "cluster.k8s.io/")
MIN_SIZES: Final = tuple(f"{each}cluster-api-autoscaler-node-group-min-size" for each in _SIZE_PREFIXES)
MAX_SIZES: Final = tuple(f"{each}cluster-api-autoscaler-node-group-max-size" for each in _SIZE_PREFIXES)

_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
#: The annotations with the resources of a new node, by resource, the first that is set counts: the annotation and the
#: unit in which it is written.
CAPACITY: Final = {
    "cpu": ((f"{_CAPACITY}cpu", ""), ("machine.openshift.io/vCPU", "")),
    "memory": ((f"{_CAPACITY}memory", ""), ("machine.openshift.io/memoryMb", "Mi")),
    "ephemeral-storage": ((f"{_CAPACITY}ephemeral-disk", ""),),
    "pods": ((f"{_CAPACITY}maxPods", ""), ("machine.openshift.io/maxPods", "")),
}
GPU_COUNTS: Final = (f"{_CAPACITY}gpu-count", "machine.openshift.io/GPU")
GPU_TYPE: Final = f"{_CAPACITY}gpu-type"
#: ``key=value,key=value`` and ``key=value:effect,key=value:effect``.
CAPACITY_LABELS: Final = f"{_CAPACITY}labels"
CAPACITY_TAINTS: Final = f"{_CAPACITY}taints"
#: The annotations whose values are numbers or quantities.
AMOUNT_ANNOTATIONS: Final = frozenset(
    (*MIN_SIZES, *MAX_SIZES, *GPU_COUNTS, *(key for keys in CAPACITY.values() for key, _ in keys))
)
#: All annotations that an answer about node groups depends on.
GROUP_ANNOTATIONS: Final = AMOUNT_ANNOTATIONS | {
    OWNER_NAME,
    OWNER_KIND,
    MACHINE,
    GPU_TYPE,
    CAPACITY_LABELS,
    CAPACITY_TAINTS,
    LAST_UPDATED,
}


class MachineMetadata(ApiStruct, frozen=True):
    """The metadata of machines; Cluster API copies some of the labels to their nodes."""

    labels: Labels = {}


class MachineTemplate(ApiStruct, frozen=True):
    metadata: MachineMetadata = MachineMetadata()


class MachineSetSpec(ApiStruct, frozen=True):
    replicas: Int32 | None = None
    template: MachineTemplate = MachineTemplate()


class ScalableSet(ApiObject, frozen=True, kw_only=True):
    """The fields that all sets of machines share."""

    spec: MachineSetSpec = MachineSetSpec()


class MachineDeployment(ScalableSet, frozen=True, kw_only=True):
    """A set of machines of Cluster API whose MachineSets are replaced one by another."""


class MachineSet(ScalableSet, frozen=True, kw_only=True):
    """A set of machines of Cluster API; one with an owner is scaled by its MachineDeployment."""


class MachinePool(ScalableSet, frozen=True, kw_only=True):
    """A set of machines of Cluster API that the cloud manages."""


class OpenShiftMachineSet(ScalableSet, frozen=True, kw_only=True):
    """A set of machines of OpenShift (kind MachineSet)."""


class MachineReference(ApiStruct, frozen=True):
    kind: str = ""
    name: str = ""


class MachineAutoscalerSpec(ApiStruct, frozen=True):
    max_replicas: Int32 = 0
    scale_target_ref: MachineReference = MachineReference()


class MachineAutoscaler(ApiObject, frozen=True, kw_only=True):
    """The sizes of a MachineSet of OpenShift, which its operator writes into annotations of the set."""

    spec: MachineAutoscalerSpec = MachineAutoscalerSpec()


class AutoscalerLimits(ApiStruct, frozen=True):
    max_nodes_total: Int32 | None = None


class ClusterAutoscalerSpec(ApiStruct, frozen=True):
    #: The priority below which a pod is expendable (``--expendable-pods-priority-cutoff``).
    pod_priority_threshold: Int32 | None = None
    resource_limits: AutoscalerLimits = AutoscalerLimits()


class ClusterAutoscaler(ApiObject, frozen=True, kw_only=True):
    """The settings from which OpenShift's operator makes the flags of Cluster Autoscaler."""

    spec: ClusterAutoscalerSpec = ClusterAutoscalerSpec()


#: The kinds by API group and kind, as ``kschedctl.objects.custom_resources.CUSTOM_RESOURCES``.
SCALABLE_KINDS: Final[dict[tuple[str, str], type[ScalableSet]]] = {
    ("cluster.x-k8s.io", "MachineDeployment"): MachineDeployment,
    ("cluster.x-k8s.io", "MachineSet"): MachineSet,
    ("cluster.x-k8s.io", "MachinePool"): MachinePool,
    ("machine.openshift.io", "MachineSet"): OpenShiftMachineSet,
}
AUTOSCALER_KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {
    **SCALABLE_KINDS,
    ("autoscaling.openshift.io", "MachineAutoscaler"): MachineAutoscaler,
    ("autoscaling.openshift.io", "ClusterAutoscaler"): ClusterAutoscaler,
}
