"""The objects that admission reads: PriorityClass, RuntimeClass, LimitRange, ResourceQuota; the usage of pods."""

from typing import Final

from kschedctl.objects.core import ResourceList
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, ObjectMeta
from kschedctl.objects.pod import Toleration


class PriorityClass(ApiObject, frozen=True, kw_only=True):
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = ""
    description: str = ""


#: The classes built into every API server.
SYSTEM_CLASSES: Final = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)


class RuntimeClassScheduling(ApiStruct, frozen=True):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClassOverhead(ApiStruct, frozen=True):
    pod_fixed: ResourceList = {}


class RuntimeClass(ApiObject, frozen=True, kw_only=True):
    handler: str = ""
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None


# The limits of a namespace: LimitRange and ResourceQuota (core/v1).


class LimitRangeItem(ApiStruct, frozen=True):
    type: str = ""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(ApiStruct, frozen=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(ApiObject, frozen=True, kw_only=True):
    spec: LimitRangeSpec = LimitRangeSpec()


class ScopedResourceSelectorRequirement(ApiStruct, frozen=True):
    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(ApiStruct, frozen=True):
    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(ApiStruct, frozen=True):
    hard: ResourceList = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = ScopeSelector()


class ResourceQuotaStatus(ApiStruct, frozen=True):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(ApiObject, frozen=True, kw_only=True):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class ContainerMetrics(ApiStruct, frozen=True):
    name: str = ""
    usage: ResourceList = {}


class PodMetrics(ApiObject, frozen=True, kw_only=True):
    """The usage of a pod over a short time, by container."""

    containers: tuple[ContainerMetrics, ...] = ()
