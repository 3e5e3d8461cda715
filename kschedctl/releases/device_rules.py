"""What differs between releases in the allocation of devices, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class DeviceRules:
    """How a release's allocator deals with devices.

    The allocator exists several times upstream; which one a release takes shows in these fields.

    Attributes
    ----------
    allocates : bool
        Whether claims play a part at all (DynamicResourceAllocation); else DynamicResources does nothing.
    capacity_requests : bool
        Consumable capacity and devices that several claims share (DRAConsumableCapacity).
    refuses_capacity_requests : bool
        Whether a request for capacity is an error where capacity is not consumable; else it is ignored.
    multiple_allocations_visible : bool
        Whether selectors see a device's ``allowMultipleAllocations``; else it is always false.
    distinct_attribute : bool
        Whether constraints by ``distinctAttribute`` are known; else they are errors.
    distinct_compares : bool
        Whether such a constraint compares values; else any two devices that have the attribute differ.
    distinct_keeps_all : bool
        Whether a device must differ from all that such a constraint has taken; else from the latest of each request.
    partitionable : bool
        Counters, and node selection per device (DRAPartitionableDevices).
    counter_slices_count : bool
        Where counters are not known: whether slices with shared counters are part of their pool all the same.
    counter_slices_everywhere : bool
        Whether slices with shared counters are read on every node, whatever their node selection.
    counters_by_driver : bool
        Whether counters are kept by driver and pool; else by the pool's name alone.
    taints : bool
        Taints of devices and their tolerations (DRADeviceTaints).
    taint_rules : bool
        DeviceTaintRule objects (DRADeviceTaintRules).
    binding_conditions : bool
        Devices that are ready only some time after allocation (DRADeviceBindingConditions).
    whole_pools : bool
        Whether a pool is looked at over all nodes: one that lacks slices is not used, a newer generation elsewhere
        makes it obsolete. Else slices for other nodes are missed, and incomplete pools are used.
    invalid_pool_fails : bool
        Whether the search ends in an error when it comes to an invalid pool; else the pool is passed over.
    combinations : bool
        Whether a request goes on with the device after the last one taken; else with the first again.
    keeps_alternative : bool
        Whether an alternative that wants all devices stays chosen from the second device on.
    names_device_in_selector_errors : bool
        Whether errors of selectors name the device, and say what helps against absent keys.
    capacity_errors : bool
        Whether capacity that cannot be reckoned ends the cycle; else the device is passed over.
    all_fails_on_used_capacity : bool
        Whether ``All`` fails on a device whose capacity is used too far; else it leaves the device out.
    hides_compatibility_groups : bool
        Whether slices with devices of compatibility groups are left out, so that their pool lacks them.
    refuses_derived_attributes : bool
        Whether a request with derived attributes is an error; else they are ignored.
    optional_node_operations : bool
        Whether an allocation that skips node operations needs a node that declares to know them.
    ownership_problem : str
        What is said of a claim that belongs to another pod's template.
    silent_post_filter : bool
        Whether PostFilter gives no reason where it has nothing to do.
    score_needs_new_allocations : bool
        Whether scoring fails for a pod with claims that were allocated before.
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
#: Claims play no part in 1.33; the other rules are those that they have where they first do.
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
