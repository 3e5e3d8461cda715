"""The differences between releases in devices, pod groups, the queue and validation, as data.

The default of a field is its value in the oldest release that has it.
"""

from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace


class VictimTies(Enum):
    """The order in which preemption sorts pods of the same priority and start, the most important first."""

    #: In the order in which they came to the node. Pods that have not started start at the time of each comparison,
    #: which reverses their order.
    UNSTARTED_REVERSED = auto()
    #: In the order in which they came to the node.
    AS_THEY_CAME = auto()
    #: The lowest UID first.
    BY_UID = auto()


class DeviceRules(msgspec.Struct, frozen=True):
    """The rules by which a release's allocator allocates devices.

    Upstream has several allocators; these fields describe the one that a release uses by default.
    """

    #: True if claims are allocated (DynamicResourceAllocation); else DynamicResources does nothing.
    allocates: bool = True
    #: True if capacity is consumable and several claims can share a device (DRAConsumableCapacity).
    capacity_requests: bool = False
    #: True if a request for capacity is an error when capacity is not consumable; else it is ignored.
    refuses_capacity_requests: bool = True
    #: True if selectors see a device's ``allowMultipleAllocations``; else they see false.
    multiple_allocations_visible: bool = True
    #: True if constraints by ``distinctAttribute`` are supported; else they are errors.
    distinct_attribute: bool = True
    #: True if such a constraint compares values; else any two devices with the attribute count as distinct.
    distinct_compares: bool = False
    #: True if such a constraint compares a device with all devices allocated before; else only with the latest one
    #: of each request.
    distinct_keeps_all: bool = False
    #: True if counters and node selection per device are supported (DRAPartitionableDevices).
    partitionable: bool = False
    #: If ``partitionable`` is false: True if slices with shared counters still belong to their pool.
    counter_slices_count: bool = True
    #: True if slices with shared counters apply to every node, regardless of their node selection.
    counter_slices_everywhere: bool = False
    #: True if counter usage is tracked by driver and pool; else by the pool's name alone.
    counters_by_driver: bool = False
    #: True if taints of devices and their tolerations are supported (DRADeviceTaints).
    taints: bool = False
    #: True if DeviceTaintRule objects are supported (DRADeviceTaintRules).
    taint_rules: bool = False
    #: True if a DeviceTaintRule without a selector taints no device; else it taints all devices.
    taint_rules_need_selector: bool = False
    #: True if devices may become ready only after their allocation (DRADeviceBindingConditions).
    binding_conditions: bool = False
    #: True if a pool is evaluated over all nodes: a pool that lacks slices is not used, and a newer generation on
    #: another node makes it obsolete. Else slices for other nodes count as missing, and incomplete pools are used.
    whole_pools: bool = False
    #: True if the search ends with an error at an invalid pool; else it skips the pool.
    invalid_pool_fails: bool = True
    #: True if a request continues with the device after the last allocated one; else it starts again at the first
    #: device.
    combinations: bool = False
    #: True if an alternative with allocation mode All remains chosen after its first device; else the search
    #: continues with the first alternative.
    keeps_alternative: bool = False
    #: True if errors of selectors name the device and suggest a remedy for missing keys.
    names_device_in_selector_errors: bool = False
    #: True if selectors read attributes with a list of values; else such an attribute has no readable value.
    lists_readable: bool = False
    #: True if an attribute without a readable value is an error in selectors that read it, and in constraints. Else it
    #: is an error in all selectors for the device, and constraints compare versions as texts.
    values_are_parsed: bool = False
    #: True if capacity that cannot be computed ends the cycle with an error; else the device is skipped.
    capacity_errors: bool = False
    #: True if a name of an attribute or capacity without a domain has the driver's domain, in devices, requests and
    #: consumed capacity. Else names of capacities are compared as they are written.
    names_have_domains: bool = False
    #: True if a request for a negative capacity is an error even if a policy would raise it, and negative consumed
    #: capacity in the status of a claim is an error for pods with claims to allocate.
    refuses_negative_capacity: bool = False
    #: True if ranges of capacity are computed in thousandths, unless these cannot express minimum, maximum and step
    #: (DRAFractionalCapacityRange); else in whole units, each rounded up first.
    fractional_ranges: bool = False
    #: True if a device that can no longer be shared is in use while a claim has a share of it.
    shares_block_whole_devices: bool = False
    #: True if mode All fails on a device with too little remaining capacity; else it leaves the device out.
    all_fails_on_used_capacity: bool = False
    #: True if the limit of devices per claim is checked request by request, and the error names the request; else it is
    #: checked once for the sum.
    counts_by_request: bool = False
    #: True if mode All rejects a node with an incomplete or invalid pool; else such a pool is an error.
    all_rejects_node: bool = False
    #: True if slices with devices of compatibility groups are ignored, so that their pool is incomplete.
    hides_compatibility_groups: bool = False
    #: True if a request with derived attributes is an error; else they are ignored.
    refuses_derived_attributes: bool = False
    #: True if an allocation that skips node operations requires a node that declares this feature.
    optional_node_operations: bool = False
    #: The message for a claim that belongs to another pod's template.
    ownership_problem: str = "ResourceClaim {claim} was not created for pod {pod} (pod is not owner)"
    #: True if PostFilter gives no reason when it has nothing to deallocate.
    silent_post_filter: bool = False
    #: True if scoring fails for a pod with claims that were allocated before.
    score_needs_new_allocations: bool = False


DEVICES_1_34: Final = DeviceRules()
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
    lists_readable=True,
    capacity_errors=True,
    all_fails_on_used_capacity=True,
    hides_compatibility_groups=True,
    refuses_derived_attributes=True,
    optional_node_operations=True,
    silent_post_filter=True,
)
#: The patch release 1.37.1.
DEVICES_1_37_1: Final = replace(DEVICES_1_37, taint_rules_need_selector=True, counts_by_request=True)
DEVICES_1_38: Final = replace(
    DEVICES_1_37_1,
    all_rejects_node=True,
    values_are_parsed=True,
    names_have_domains=True,
    refuses_negative_capacity=True,
    fractional_ranges=True,
    shares_block_whole_devices=True,
)


# The differences between releases in the scheduling of pod groups, as data.
#
# Kubernetes 1.36 queues the pods of a group one by one, and a pod in turn draws in the others. Kubernetes 1.37 queues
# the group itself and preempts for it as a whole.


class PodGroupRules(msgspec.Struct, frozen=True):
    """The rules of pod groups."""

    #: The gate that adds the plugin GangScheduling.
    gang_gate: str = "GangScheduling"
    #: The gate with which a group preempts as a whole.
    preemption_gate: str = "WorkloadAwarePreemption"
    #: The type of the condition that an attempt writes on the PodGroup.
    condition: str = "PodGroupScheduled"
    #: True if the queue's entries are groups. Else they are pods, and a pod in turn draws in the other members.
    queues_groups: bool = False
    #: True if members of another priority or preemption policy than the group's end the attempt with an error.
    checks_members: bool = False
    #: True if PostFilter runs for a member that fits nowhere.
    members_preempt: bool = True
    #: True if the Permit plugins decide whether the group succeeds, else the PlacementFeasible plugins.
    permit_decides: bool = True
    #: True if members stay on the nodes that were found without victims while victims are put back. Else the whole
    #: attempt is repeated for every victim.
    stays_on_nodes: bool = False
    #: True if a single pod that preempts a member of a group with disruption mode *all* preempts all of its members.
    pods_preempt_whole_groups: bool = False
    #: True if a pod of a group counts as a victim by the priority of its group; else by its own.
    victims_have_group_priority: bool = False
    #: True if a group that is evicted as a whole counts by the group's priority; else by its pods' own.
    units_have_group_priority: bool = True
    #: True if a pod of a group with disruption mode *single* is a more important victim than one without a group.
    single_members_rank_as_group: bool = True
    #: True if a member that is removed as a victim of its own group no longer counts for ``minCount``.
    victims_are_counted: bool = False
    #: True if the outcome of preemption is part of the group's message even if it succeeds.
    says_preemption: bool = False
    #: True if a group with topology constraints may preempt.
    preempts_in_placements: bool = False
    #: True if members of one attempt can be a batch.
    batch_spans_group: bool = False
    #: The message of PreEnqueue for a pod without its PodGroup.
    no_group: str = 'waiting for pods\'s pod group "{group}" to appear in scheduling queue'
    #: The message of PreEnqueue for a pod whose group has too few pods.
    too_few: str = "waiting for minCount pods from a gang to appear in scheduling queue"
    #: The message of an attempt for a group with fewer pods on nodes than it needs.
    threshold: str = "minCount ({least}) {verdict}: {scheduled} scheduled, {remaining} remaining"
    #: The message of an attempt for a group without any new pod on a node.
    nothing_fits: str = ""
    #: True if the messages of groups begin with ``pod group is unschedulable``.
    prefixes_messages: bool = True
    #: True if a member that fails for its group's sake is told no more than that, and is woken by events of the
    #: plugins that refused the group.
    members_name_parent: bool = False
    #: The message of PreEnqueue about a tree with the basic policy without a group that has enough pods.
    no_ready_child: str = "waiting for {root} tree to have at least one ready child group"
    #: True if the check of members names pods and the root of their tree, the group's own preemption policy counts
    #: without a gate, and the condition has the reason PodGroupError.
    checks_hierarchy: bool = False
    #: True if an empty value of the topology label is no domain.
    ignores_empty_domains: bool = False
    #: True if the placement with the node that a member is nominated to is tried first, and taken if a member fits.
    nominated_placement_first: bool = False
    #: True if the search ends at a share of the placements (``percentageOfPlacementsToScore``).
    samples_placements: bool = False
    #: True if a group that preempts prefers the nodes with the cheapest victims, whatever their scores.
    ranks_nodes: bool = False
    #: True if a group without any possible victim is told nothing else by PostFilter.
    no_victims_is_final: bool = True
    #: True if pods of lower priority lose their nomination to the nodes that a preempting group takes.
    clears_lower_nominations: bool = False


#: The gate with which groups are scheduled at all.
GENERIC_WORKLOAD: Final = "GenericWorkload"
#: The gate with which a group's placements are tried one by one.
TOPOLOGY_AWARE: Final = "TopologyAwareWorkloadScheduling"
#: The gate with which groups may have groups above them.
COMPOSITE_POD_GROUP: Final = "CompositePodGroup"
#: The gate with which the group's own preemption policy counts.
GROUP_PREEMPTION_POLICY: Final = "PodGroupPreemptionPolicy"

POD_GROUPS_1_36: Final = PodGroupRules()
POD_GROUPS_1_37: Final = PodGroupRules(
    gang_gate=GENERIC_WORKLOAD,
    preemption_gate=GENERIC_WORKLOAD,
    condition="PodGroupInitiallyScheduled",
    queues_groups=True,
    checks_members=True,
    members_preempt=False,
    permit_decides=False,
    stays_on_nodes=True,
    pods_preempt_whole_groups=True,
    victims_have_group_priority=True,
    victims_are_counted=True,
    says_preemption=True,
    preempts_in_placements=True,
    batch_spans_group=True,
)
POD_GROUPS_1_38: Final = replace(
    POD_GROUPS_1_37,
    victims_have_group_priority=False,
    units_have_group_priority=False,
    single_members_rank_as_group=False,
    no_group='pod group "{group}" or one of its composite pod group ancestors has not been created yet',
    too_few="waiting for {root} to meet its quorum",
    threshold=(
        "scheduling policy's minimum threshold ({least}) {verdict}: {scheduled} scheduled, "
        "{unschedulable} unschedulable, {remaining} not-evaluated"
    ),
    nothing_fits="no pods were schedulable",
    prefixes_messages=False,
    members_name_parent=True,
    checks_hierarchy=True,
    ignores_empty_domains=True,
    nominated_placement_first=True,
    samples_placements=True,
    ranks_nodes=True,
    no_victims_is_final=False,
    clears_lower_nominations=True,
)
#: The gates of pod groups per release that can be set, each with the gates that it depends on.
POD_GROUP_GATES_1_36: Final = {
    GENERIC_WORKLOAD: (),
    "GangScheduling": (GENERIC_WORKLOAD,),
    TOPOLOGY_AWARE: (GENERIC_WORKLOAD,),
    "WorkloadAwarePreemption": ("GangScheduling",),
}
POD_GROUP_GATES_1_37: Final = {
    GENERIC_WORKLOAD: (),
    TOPOLOGY_AWARE: (GENERIC_WORKLOAD,),
    GROUP_PREEMPTION_POLICY: (GENERIC_WORKLOAD,),
}
POD_GROUP_GATES_1_38: Final = {
    GENERIC_WORKLOAD: (),
    TOPOLOGY_AWARE: (GENERIC_WORKLOAD,),
    COMPOSITE_POD_GROUP: (TOPOLOGY_AWARE,),
}


# The differences between releases in the scheduling queue, as data: events, preemption and batches.


class QueueRules(msgspec.Struct, frozen=True):
    """The rules of the scheduling queue and of the steps around a scheduling cycle."""

    #: True if plugins receive the events of other pods that are not on a node.
    unscheduled_pods_wake: bool = True
    #: True if nominated pods count in the hints of InterPodAffinity and PodTopologySpread.
    nominated_pods_wake: bool = False
    #: True if InterPodAffinity's hint checks the anti-affinity of a deleted pod.
    anti_affinity_of_deleted_pods_wakes: bool = False
    #: True if InterPodAffinity's hint requires one anti-affinity term to match; else all terms must match.
    any_anti_affinity_term_wakes: bool = False
    #: True if the deletion of an allocated ResourceClaim queues the pods that DynamicResources rejected.
    deleted_claims_wake: bool = False
    #: True if plugins that register added nodes also receive all changes of taints.
    taints_stand_for_new_nodes: bool = True
    #: True if the binding of a pod also counts as its removal from its nominated node.
    binding_ends_nomination: bool = True
    #: True if preemption does nothing if all victims are already terminating.
    skips_terminating_victims: bool = False
    #: True if a batch continues when the last chosen node fits another pod.
    batch_rescores: bool = False
    #: True if InterPodAffinity's hints look up the labels of a namespace for a term with a selector of namespaces; else
    #: such a term matches no pod there.
    namespace_selectors_wake: bool = False
    #: True if a change of a node queues the pods that are nominated to it and no longer fit even if it is empty.
    shrunk_nominated_node_wakes: bool = False
    #: True if pods are never batched while device classes may back extended resources.
    devices_prevent_batches: bool = False


QUEUE_1_34: Final = QueueRules()
QUEUE_1_35: Final = replace(
    QUEUE_1_34, binding_ends_nomination=False, skips_terminating_victims=True, devices_prevent_batches=True
)
QUEUE_1_36: Final = replace(
    QUEUE_1_35, nominated_pods_wake=True, anti_affinity_of_deleted_pods_wakes=True, devices_prevent_batches=False
)
QUEUE_1_37: Final = replace(
    QUEUE_1_36,
    unscheduled_pods_wake=False,
    any_anti_affinity_term_wakes=True,
    deleted_claims_wake=True,
    taints_stand_for_new_nodes=False,
    batch_rescores=True,
)
QUEUE_1_38: Final = replace(QUEUE_1_37, namespace_selectors_wake=True, shrunk_nominated_node_wakes=True)


# The differences between releases in the API servers' validation of objects, as data, except for feature gates.


class ValidationRules(msgspec.Struct, frozen=True):
    """The validation rules of a release that differ between releases."""

    #: True if the operators Lt and Gt of tolerations are known, possibly behind a gate; else they are invalid
    #: operators.
    tolerations_compare: bool = False
    #: True if an init container with restart rules requires a restart policy.
    restart_rules_need_policy: bool = False
    #: True if too many restart rules are reported as a number of items; else as a length.
    restart_rules_are_counted: bool = False
    #: True if the resize policy RestartContainer is forbidden for init containers that are not sidecars.
    resize_restarts_only_sidecars: bool = False
    #: True if the message about resize policies says that the restart policy is the pod's.
    resize_message_names_pod: bool = False
    #: True if an empty CSI driver name is reported as malformed too, in addition to missing.
    driver_name_checked_when_empty: bool = True
    #: True if the image of an image volume is required in templates too.
    templates_need_image_reference: bool = False
    #: True if the message about an invalid action of a restart rule lists all actions that the gates allow; else
    #: only Restart.
    restart_actions_listed: bool = False
    #: True if the lower limits of the replicas of a HorizontalPodAutoscaler are checked after its other fields, and
    #: so are the name, ``replicas`` and ``minReadySeconds`` of a ReplicationController, and whether a CronJob has a
    #: schedule and a StorageClass a provisioner.
    bounds_are_last: bool = False
    #: True if messages about ``shareProcessNamespace`` name it as a field of the pod's spec, and Windows pods are
    #: refused for it and for ``hostPID``, ``hostIPC`` and ``hostUsers`` after the security context; else as a part
    #: of the security context.
    host_namespaces_are_of_spec: bool = False
    #: The versions of scheduling.k8s.io that have PodGroups and Workloads.
    pod_group_versions: frozenset[str] = frozenset()
    #: The feature gate with which PodGroups get the priority of their PriorityClass; empty without PodGroups.
    pod_group_priority_gate: str = ""
    #: The versions of scheduling.k8s.io that have CompositePodGroups.
    composite_pod_group_versions: frozenset[str] = frozenset()
    #: True if the Workload and the template that a new PodGroup names must exist.
    pod_group_needs_workload: bool = False
    #: True if a new group without a preemption policy gets PreemptLowerPriority before admission; else it gets that of
    #: its PriorityClass.
    preemption_policy_of_groups_has_default: bool = True
    #: True if the priority of a group has a maximum in addition to being that of its PriorityClass.
    priority_of_groups_has_maximum: bool = True
    #: True if the disruption mode ``all`` requires the policy ``gang``, and the templates below a composite one its
    #: policy ``gang`` and its mode ``all``.
    disruption_of_all_needs_gang: bool = False
    #: True if all templates of a Workload must have the same preemption policy too, and one message is about all that
    #: they must share.
    templates_share_preemption_policy: bool = False
    #: True if both annotations that name a template of a Workload for a Job must be set, or neither of them.
    delegation_annotations_are_a_pair: bool = False
    #: True if amounts that do not fit into 64 bits are checked as they are, and a negative capacity is shown as
    #: written; else such amounts count as zero, and the capacity is shown as a number of bytes.
    large_amounts_are_exact: bool = False
    #: True if the keys of tolerations, the references of HorizontalPodAutoscalers, the selector of StatefulSets and
    #: ``backoffLimitPerIndex`` are checked by rules that are declared at the fields, whose findings come last.
    more_is_declared: bool = False
    #: True if seccomp profiles have the field ``oci``, which is for the type OCI.
    seccomp_profiles_of_registries: bool = False
    #: Feature gates that this release does not know any more because they are on for good, although no earlier release
    #: had locked them.
    permanent_gates: frozenset[str] = frozenset()


VALIDATION_1_34: Final = ValidationRules()
VALIDATION_1_35: Final = replace(
    VALIDATION_1_34, tolerations_compare=True, restart_rules_need_policy=True, driver_name_checked_when_empty=False
)
VALIDATION_1_36: Final = replace(
    VALIDATION_1_35,
    restart_rules_are_counted=True,
    resize_restarts_only_sidecars=True,
    resize_message_names_pod=True,
    restart_actions_listed=True,
    pod_group_versions=frozenset({"v1alpha2"}),
    pod_group_priority_gate=POD_GROUPS_1_36.preemption_gate,
    pod_group_needs_workload=True,
)
VALIDATION_1_37: Final = replace(
    VALIDATION_1_36,
    templates_need_image_reference=True,
    bounds_are_last=True,
    host_namespaces_are_of_spec=True,
    pod_group_versions=frozenset({"v1alpha3", "v1beta1"}),
    pod_group_priority_gate=POD_GROUPS_1_37.preemption_gate,
    composite_pod_group_versions=frozenset({"v1alpha3"}),
    pod_group_needs_workload=False,
)
VALIDATION_1_38: Final = replace(
    VALIDATION_1_37,
    composite_pod_group_versions=frozenset({"v1alpha3", "v1beta1"}),
    preemption_policy_of_groups_has_default=False,
    priority_of_groups_has_maximum=False,
    disruption_of_all_needs_gang=True,
    templates_share_preemption_policy=True,
    delegation_annotations_are_a_pair=True,
    large_amounts_are_exact=True,
    more_is_declared=True,
    seccomp_profiles_of_registries=True,
    permanent_gates=frozenset({GROUP_PREEMPTION_POLICY}),
)
