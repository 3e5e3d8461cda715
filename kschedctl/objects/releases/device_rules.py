"""The differences between releases in the allocation of devices, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class DeviceRules:
    """The rules by which a release's allocator allocates devices.

    Upstream has several allocators; these fields describe the one that a release uses by default.

    Attributes
    ----------
    allocates : bool
        True if claims are allocated (DynamicResourceAllocation); else DynamicResources does nothing.
    capacity_requests : bool
        True if capacity is consumable and several claims can share a device (DRAConsumableCapacity).
    refuses_capacity_requests : bool
        True if a request for capacity is an error when capacity is not consumable; else it is ignored.
    multiple_allocations_visible : bool
        True if selectors see a device's ``allowMultipleAllocations``; else they see false.
    distinct_attribute : bool
        True if constraints by ``distinctAttribute`` are supported; else they are errors.
    distinct_compares : bool
        True if such a constraint compares values; else any two devices with the attribute count as distinct.
    distinct_keeps_all : bool
        True if such a constraint compares a device with all devices allocated before; else only with the latest one of
        each request.
    partitionable : bool
        True if counters and node selection per device are supported (DRAPartitionableDevices).
    counter_slices_count : bool
        If ``partitionable`` is false: True if slices with shared counters still belong to their pool.
    counter_slices_everywhere : bool
        True if slices with shared counters apply to every node, regardless of their node selection.
    counters_by_driver : bool
        True if counter usage is tracked by driver and pool; else by the pool's name alone.
    taints : bool
        True if taints of devices and their tolerations are supported (DRADeviceTaints).
    taint_rules : bool
        True if DeviceTaintRule objects are supported (DRADeviceTaintRules).
    binding_conditions : bool
        True if devices may become ready only after their allocation (DRADeviceBindingConditions).
    whole_pools : bool
        True if a pool is evaluated over all nodes: a pool that lacks slices is not used, and a newer generation on
        another node makes it obsolete. Else slices for other nodes count as missing, and incomplete pools are used.
    invalid_pool_fails : bool
        True if the search ends with an error at an invalid pool; else it skips the pool.
    combinations : bool
        True if a request continues with the device after the last allocated one; else it starts again at the first
        device.
    keeps_alternative : bool
        True if an alternative with allocation mode All remains chosen after its first device; else the search continues
        with the first alternative.
    names_device_in_selector_errors : bool
        True if errors of selectors name the device and suggest a remedy for missing keys.
    capacity_errors : bool
        True if capacity that cannot be computed ends the cycle with an error; else the device is skipped.
    all_fails_on_used_capacity : bool
        True if mode All fails on a device with too little remaining capacity; else it leaves the device out.
    hides_compatibility_groups : bool
        True if slices with devices of compatibility groups are ignored, so that their pool is incomplete.
    refuses_derived_attributes : bool
        True if a request with derived attributes is an error; else they are ignored.
    optional_node_operations : bool
        True if an allocation that skips node operations requires a node that declares this feature.
    ownership_problem : str
        The message for a claim that belongs to another pod's template.
    silent_post_filter : bool
        True if PostFilter gives no reason when it has nothing to deallocate.
    score_needs_new_allocations : bool
        True if scoring fails for a pod with claims that were allocated before.
    """

    allocates: bool
    capacity_requests: bool
    refuses_capacity_requests: bool
    multiple_allocations_visible: bool
    distinct_attribute: bool
    distinct_compares: bool
    distinct_keeps_all: bool
    partitionable: bool
    counter_slices_count: bool
    counter_slices_everywhere: bool
    counters_by_driver: bool
    taints: bool
    taint_rules: bool
    binding_conditions: bool
    whole_pools: bool
    invalid_pool_fails: bool
    combinations: bool
    keeps_alternative: bool
    names_device_in_selector_errors: bool
    capacity_errors: bool
    all_fails_on_used_capacity: bool
    hides_compatibility_groups: bool
    refuses_derived_attributes: bool
    optional_node_operations: bool
    ownership_problem: str
    silent_post_filter: bool
    score_needs_new_allocations: bool


DEVICES_1_34: Final = DeviceRules(
    allocates=True,
    capacity_requests=False,
    refuses_capacity_requests=True,
    multiple_allocations_visible=True,
    distinct_attribute=True,
    distinct_compares=False,
    distinct_keeps_all=False,
    partitionable=False,
    counter_slices_count=True,
    counter_slices_everywhere=False,
    counters_by_driver=False,
    taints=False,
    taint_rules=False,
    binding_conditions=False,
    whole_pools=False,
    invalid_pool_fails=True,
    combinations=False,
    keeps_alternative=False,
    names_device_in_selector_errors=False,
    capacity_errors=False,
    all_fails_on_used_capacity=False,
    hides_compatibility_groups=False,
    refuses_derived_attributes=False,
    optional_node_operations=False,
    ownership_problem="ResourceClaim {claim} was not created for pod {pod} (pod is not owner)",
    silent_post_filter=False,
    score_needs_new_allocations=False,
)
#: 1.33 does not allocate claims; its other rules are those of 1.34.
DEVICES_1_33: Final = replace(DEVICES_1_34, allocates=False)
DEVICES_1_35: Final = replace(
    DEVICES_1_34,
    refuses_capacity_requests=False,
    multiple_allocations_visible=False,
    distinct_attribute=False,
    counter_slices_count=False,
    whole_pools=True,
    invalid_pool_fails=False,
    score_needs_new_allocations=True,
)
DEVICES_1_36: Final = replace(
    DEVICES_1_35,
    capacity_requests=True,
    multiple_allocations_visible=True,
    distinct_attribute=True,
    distinct_compares=True,
    partitionable=True,
    counter_slices_everywhere=True,
    taints=True,
    binding_conditions=True,
    combinations=True,
    keeps_alternative=True,
    ownership_problem="ResourceClaim {claim} was not created for Pod {pod} (Pod is not owner)",
    score_needs_new_allocations=False,
)
DEVICES_1_37: Final = replace(
    DEVICES_1_36,
    distinct_keeps_all=True,
    counter_slices_everywhere=False,
    counters_by_driver=True,
    taint_rules=True,
    names_device_in_selector_errors=True,
    capacity_errors=True,
    all_fails_on_used_capacity=True,
    hides_compatibility_groups=True,
    refuses_derived_attributes=True,
    optional_node_operations=True,
    silent_post_filter=True,
)
