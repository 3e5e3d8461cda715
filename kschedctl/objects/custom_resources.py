"""Objects of autoscalers, queues and distributions that say why a pod is as it is. No decision depends on them.

The kinds of two groups may have one name, such as Kueue's Workload; their types are then named after the project.
"""

from typing import Final

from kschedctl.objects.cluster_autoscaler import AUTOSCALER_KINDS, ClusterAutoscaler
from kschedctl.objects.core import Condition, ResourceList
from kschedctl.objects.karpenter import NodeClaim, NodePool
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, Labels, LabelSelector


class TargetReference(ApiStruct, frozen=True):
    """The workload that an autoscaler changes, in the autoscaler's namespace."""

    kind: str = ""
    name: str = ""


class Conditions(ApiStruct, frozen=True):
    """A status of which only the conditions are read."""

    conditions: tuple[Condition, ...] = ()


# Autoscalers of workloads (autoscaling, autoscaling.k8s.io).


class HorizontalPodAutoscalerSpec(ApiStruct, frozen=True):
    scale_target_ref: TargetReference = TargetReference()
    max_replicas: Int32 = 0


class HorizontalPodAutoscaler(ApiObject, frozen=True, kw_only=True):
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()


class ContainerResourcePolicy(ApiStruct, frozen=True):
    container_name: str = ""
    mode: str = ""
    max_allowed: ResourceList = {}


class PodResourcePolicy(ApiStruct, frozen=True):
    container_policies: tuple[ContainerResourcePolicy, ...] = ()


class PodUpdatePolicy(ApiStruct, frozen=True):
    update_mode: str = ""


class VerticalPodAutoscalerSpec(ApiStruct, frozen=True):
    target_ref: TargetReference = TargetReference()
    update_policy: PodUpdatePolicy = PodUpdatePolicy()
    resource_policy: PodResourcePolicy = PodResourcePolicy()


class VerticalPodAutoscaler(ApiObject, frozen=True, kw_only=True):
    spec: VerticalPodAutoscalerSpec = VerticalPodAutoscalerSpec()


# OpenShift (config.openshift.io).


class OpenShiftSchedulerSpec(ApiStruct, frozen=True):
    default_node_selector: str = ""


class OpenShiftScheduler(ApiObject, frozen=True, kw_only=True):
    """The cluster-wide settings of OpenShift's scheduler (kind Scheduler)."""

    spec: OpenShiftSchedulerSpec = OpenShiftSchedulerSpec()


# Kueue (kueue.x-k8s.io).


class LocalQueueSpec(ApiStruct, frozen=True):
    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueue(ApiObject, frozen=True, kw_only=True):
    spec: LocalQueueSpec = LocalQueueSpec()
    status: Conditions = Conditions()


class FlavorQuotas(ApiStruct, frozen=True):
    name: str = ""


class ResourceGroup(ApiStruct, frozen=True):
    flavors: tuple[FlavorQuotas, ...] = ()


class ClusterQueueSpec(ApiStruct, frozen=True):
    resource_groups: tuple[ResourceGroup, ...] = ()
    #: The namespaces whose jobs the queue admits; ``None`` for no namespace.
    namespace_selector: LabelSelector | None = None
    stop_policy: str = ""


class ClusterQueue(ApiObject, frozen=True, kw_only=True):
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: Conditions = Conditions()


class ResourceFlavorSpec(ApiStruct, frozen=True):
    #: The labels that Kueue adds to the node selector of the pods of admitted jobs.
    node_labels: Labels = {}


class ResourceFlavor(ApiObject, frozen=True, kw_only=True):
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class PodSet(ApiStruct, frozen=True):
    count: Int32 = 0


class KueueWorkloadSpec(ApiStruct, frozen=True):
    queue_name: str = ""
    active: bool | None = None
    pod_sets: tuple[PodSet, ...] = ()


class AdmissionCheckState(ApiStruct, frozen=True):
    name: str = ""
    state: str = ""
    message: str = ""


class KueueWorkloadStatus(Conditions, frozen=True):
    admission_checks: tuple[AdmissionCheckState, ...] = ()


class KueueWorkload(ApiObject, frozen=True, kw_only=True):
    """A job that waits in a queue of Kueue (kind Workload)."""

    spec: KueueWorkloadSpec = KueueWorkloadSpec()
    status: KueueWorkloadStatus = KueueWorkloadStatus()


# Groups of pods of other schedulers: Volcano (scheduling.volcano.sh), scheduler-plugins (scheduling.x-k8s.io).


class GangSpec(ApiStruct, frozen=True):
    min_member: Int32 = 0
    min_resources: ResourceList = {}
    queue: str = ""


class GangStatus(Conditions, frozen=True):
    phase: str = ""


class VolcanoPodGroup(ApiObject, frozen=True, kw_only=True):
    """A group of pods that Volcano starts together (kind PodGroup)."""

    spec: GangSpec = GangSpec()
    status: GangStatus = GangStatus()


class CoschedulingPodGroup(ApiObject, frozen=True, kw_only=True):
    """A group of pods that the plugin Coscheduling starts together (kind PodGroup)."""

    spec: GangSpec = GangSpec()
    status: GangStatus = GangStatus()


class VolcanoQueueSpec(ApiStruct, frozen=True):
    capability: ResourceList = {}


class VolcanoQueueStatus(ApiStruct, frozen=True):
    state: str = ""


class VolcanoQueue(ApiObject, frozen=True, kw_only=True):
    """A queue of Volcano (kind Queue)."""

    spec: VolcanoQueueSpec = VolcanoQueueSpec()
    status: VolcanoQueueStatus = VolcanoQueueStatus()


# JobSet (jobset.x-k8s.io).


class JobSetSpec(ApiStruct, frozen=True):
    suspend: bool = False


class JobSet(ApiObject, frozen=True, kw_only=True):
    spec: JobSetSpec = JobSetSpec()
    status: Conditions = Conditions()


#: The kinds by API group and kind, as ``kschedctl.objects.kinds.KINDS``.
CUSTOM_RESOURCES: Final[dict[tuple[str, str], type[ApiObject]]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): HorizontalPodAutoscaler,
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"): VerticalPodAutoscaler,
    ("karpenter.sh", "NodePool"): NodePool,
    ("karpenter.sh", "NodeClaim"): NodeClaim,
    **AUTOSCALER_KINDS,
    ("config.openshift.io", "Scheduler"): OpenShiftScheduler,
    ("kueue.x-k8s.io", "LocalQueue"): LocalQueue,
    ("kueue.x-k8s.io", "ClusterQueue"): ClusterQueue,
    ("kueue.x-k8s.io", "ResourceFlavor"): ResourceFlavor,
    ("kueue.x-k8s.io", "Workload"): KueueWorkload,
    ("scheduling.volcano.sh", "PodGroup"): VolcanoPodGroup,
    ("scheduling.volcano.sh", "Queue"): VolcanoQueue,
    ("scheduling.x-k8s.io", "PodGroup"): CoschedulingPodGroup,
    ("jobset.x-k8s.io", "JobSet"): JobSet,
}
NAMESPACED_CUSTOM_RESOURCES: Final = frozenset(CUSTOM_RESOURCES.values()) - {
    NodePool,
    NodeClaim,
    ClusterAutoscaler,
    OpenShiftScheduler,
    ClusterQueue,
    ResourceFlavor,
    VolcanoQueue,
}
