"""Devices and the claims for them (resource.k8s.io/v1).

An API server also serves v1beta2, which has the same schema, and v1beta1. In v1beta1 the fields of a device are under
``basic``, and those of a request are next to its name; ``kschedctl.objects.defaults`` converts them to v1.
"""

from typing import Final

from msgspec import field

from kschedctl.objects.core import Condition, QuantityText
from kschedctl.objects.meta import ApiObject, ApiStruct, Int64, ObjectMeta, Time
from kschedctl.objects.selectors import NodeSelector

ALL: Final = "All"
EXACT_COUNT: Final = "ExactCount"
#: The maximum number of devices that the allocation of one claim can list.
ALLOCATION_RESULTS_MAX: Final = 32
#: The maximum number of alternatives of one request.
FIRST_AVAILABLE_MAX: Final = 8


class CELDeviceSelector(ApiStruct, frozen=True):
    expression: str = ""


class DeviceSelector(ApiStruct, frozen=True):
    cel: CELDeviceSelector | None = None


class DeviceToleration(ApiStruct, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(ApiStruct, frozen=True):
    requests: dict[str, QuantityText] = {}


class DeviceDerivedAttribute(ApiStruct, frozen=True):
    name: str = ""


class ExactDeviceRequest(ApiStruct, frozen=True):
    """The requirements that one request has for its devices."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceSubRequest(ApiStruct, frozen=True):
    """An alternative of a request with ``firstAvailable``."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceRequest(ApiStruct, frozen=True):
    """A request with either ``exactly`` or ``firstAvailable``; the other fields are those of v1beta1."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceConstraint(ApiStruct, frozen=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(ApiStruct, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaimSpec(ApiStruct, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(ApiStruct, frozen=True):
    """An allocated device."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, QuantityText] | None = None
    skip_node_operations: tuple[str, ...] = ()


class DeviceAllocationResult(ApiStruct, frozen=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(ApiStruct, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: Time | None = None


class ResourceClaimConsumerReference(ApiStruct, frozen=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(ApiStruct, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(ApiStruct, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(ApiObject, frozen=True, kw_only=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def key(self) -> str:
        """The claim's ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class ResourceClaimTemplateSpec(ApiStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(ApiObject, frozen=True, kw_only=True):
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceAttribute(ApiStruct, frozen=True):
    """An attribute of a device; exactly one of the values is set, and a list only with DRAListTypeAttributes."""

    int_value: Int64 | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string_value: str | None = field(default=None, name="string")
    version_value: str | None = field(default=None, name="version")
    int_values: tuple[Int64, ...] = field(default=(), name="ints")
    bool_values: tuple[bool, ...] = field(default=(), name="bools")
    string_values: tuple[str, ...] = field(default=(), name="strings")
    version_values: tuple[str, ...] = field(default=(), name="versions")

    @property
    def list_value(self) -> tuple[int, ...] | tuple[bool, ...] | tuple[str, ...]:
        """The list, with versions as text; empty if the value is not a list."""
        return self.int_values or self.bool_values or self.string_values or self.version_values


class CapacityRequestPolicyRange(ApiStruct, frozen=True):
    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(ApiStruct, frozen=True):
    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(ApiStruct, frozen=True):
    value: QuantityText = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(ApiStruct, frozen=True):
    value: QuantityText = "0"


class CounterSet(ApiStruct, frozen=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(ApiStruct, frozen=True):
    counter_set: str = ""
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(ApiStruct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class DeviceFeatures(ApiStruct, frozen=True):
    """The fields of a device except its name; v1beta1 has them under ``basic``."""

    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


class Device(DeviceFeatures, frozen=True, kw_only=True):
    name: str = ""
    basic: DeviceFeatures | None = None


class ResourcePool(ApiStruct, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(ApiStruct, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(ApiObject, frozen=True, kw_only=True):
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassSpec(ApiStruct, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(ApiObject, frozen=True, kw_only=True):
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(ApiStruct, frozen=True):
    """The selection of devices that a rule taints; an absent field matches any value."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(ApiStruct, frozen=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(ApiObject, frozen=True, kw_only=True):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
