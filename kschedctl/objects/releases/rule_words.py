"""The words for rules that differ between releases, for people who upgrade: one table, by the field of the rule.

The key is the path of the field in ``Release``: ``fit_gives_up``, ``devices.whole_pools``, or ``features.NAME`` for a
feature gate. A field of a rule that affects the decision for one pod must have words (``tests/objects/releases``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class RuleWords:
    """The words for a rule of which releases have different values."""

    #: The name of the rule in answers and tables.
    name: str
    #: The behaviour where the field is true or the gate is on. Of other fields, it is followed by the value,
    #: unless it has ``{release}`` in it, for the release.
    if_on: str
    #: The scheduler's behaviour where the field is false or the gate is off; empty for other fields.
    if_off: str = ""
    #: The action before an upgrade; empty if there is nothing to do.
    advice: str = ""


#: The advice for rules that change only texts.
_TEXTS: Final = "nothing, unless a program matches the text"
_OWN_LABELS: Final = "select the pods' own labels: lint finds empty selectors (KS129, KS315)"

RULE_WORDS: Final[Mapping[str, RuleWords]] = MappingProxyType(
    {
        # One pod.
        "version": RuleWords(
            "api-server-gates",
            "the API server's feature gates, which decide about fields of new pods, have the defaults of {release}",
            advice="look up the fields of the pod in the release notes",
        ),
        "ungated_plugins": RuleWords(
            "default-plugins",
            "the default plugins have the order and weights of {release}",
            advice="compare your configuration with the default profile of both releases",
        ),
        "absent_points": RuleWords(
            "extension-points",
            "plugins have the extension points of {release}; since 1.37 NodeName, NodeUnschedulable and "
            "TaintToleration run at PreFilter, too, which changes messages",
            advice=_TEXTS,
        ),
        "dynamic_resources_scores": RuleWords(
            "device-scores",
            "DynamicResources scores nodes, by the alternatives of claims",
            "DynamicResources scores no nodes",
        ),
        "balanced_allocation_compares": RuleWords(
            "balance-change",
            "NodeResourcesBalancedAllocation scores the change of the balance by the pod",
            "NodeResourcesBalancedAllocation scores the balance with the pod",
        ),
        "image_volumes_have_locality": RuleWords(
            "image-volumes",
            "ImageLocality counts images that are mounted as volumes",
            "ImageLocality counts the images of containers only",
        ),
        "image_volumes_raise_threshold": RuleWords(
            "image-volumes-threshold",
            "images that are mounted as volumes raise the upper threshold of ImageLocality",
            "images that are mounted as volumes do not change the upper threshold of ImageLocality",
        ),
        "devices_back_extended_resources": RuleWords(
            "devices-for-extended-resources",
            "a DeviceClass can provide an extended resource, such as nvidia.com/gpu",
            "only the nodes' allocatable provides extended resources",
        ),
        "portworx_needs_annotation": RuleWords(
            "portworx-annotation",
            "Portworx volumes count for the limits of CSI volumes only on nodes with the migration annotation",
            "Portworx volumes count for the limits of CSI volumes on every node",
        ),
        "bind_mount_options_are_declared": RuleWords(
            "bind-mount-options",
            "pods with bindMountOptions require a node that declares this feature",
            "pods with bindMountOptions run on any node",
            advice="upgrade the kubelets before pods use bindMountOptions",
        ),
        "resizes_count_in_totals": RuleWords(
            "resizes-in-totals",
            "a running pod that is being resized takes the maximum of the desired, allocated and actual sums",
            "a running pod that is being resized takes the sum of the maxima of its containers",
        ),
        "gated_pods_keep_nomination": RuleWords(
            "nomination-of-gated-pods",
            "a pod with scheduling gates keeps its capacity on the node that it is nominated for",
            "a pod with scheduling gates takes no capacity on the node that it is nominated for",
        ),
        "preemption_names_node": RuleWords(
            "preemption-names-node",
            "the message of a successful preemption names the node and the number of victims",
            "the message of a successful preemption says nothing about the node",
            advice=_TEXTS,
        ),
        "unstarted_in_order": RuleWords(
            "unstarted-victims",
            "of pods that have not started, the first that came to the node is the most important",
            "of pods that have not started, the last that came to the node is the most important",
        ),
        "counts_up_to_violated_budget": RuleWords(
            "several-budgets",
            "a victim counts against its disruption budgets only up to the first that it violates",
            "a victim counts against all its disruption budgets",
            advice="keep one budget per pod: lint finds others (KS303)",
        ),
        "names_untolerated_taint": RuleWords(
            "taint-in-message",
            "the message of TaintToleration names the taint",
            "the message of TaintToleration does not name the taint",
            advice=_TEXTS,
        ),
        "fit_gives_up": RuleWords(
            "no-preemption-on-small-nodes",
            "preemption ignores nodes that are too small for the pod even without other pods",
            "preemption also tries nodes that are too small for the pod",
        ),
        "empty_spread_selector_counts": RuleWords(
            "empty-spread-selector",
            "a topology spread constraint with labelSelector {} counts every pod of the namespace",
            "a topology spread constraint with labelSelector {} counts no pods, and never rejects a node",
            advice=_OWN_LABELS,
        ),
        "empty_budget_selector_protects": RuleWords(
            "empty-budget-selector",
            "a disruption budget with selector {} protects every pod of its namespace from preemption",
            "a disruption budget with selector {} protects no pod from preemption",
            advice=_OWN_LABELS,
        ),
        "claim_in_use": RuleWords(
            "claim-in-use", "the message about a ReadWriteOncePod claim that another pod uses", advice=_TEXTS
        ),
        # Feature gates.
        "features.InPlacePodLevelResourcesVerticalScaling": RuleWords(
            "resizes-of-pod-level-resources",
            "resizes of pod-level resources count in the requests of running pods",
            "resizes of pod-level resources are ignored",
        ),
        "features.NodeDeclaredFeatures": RuleWords(
            "declared-features",
            "pods run only on nodes that declare the features that they need",
            "nodes do not have to declare features",
            advice="upgrade the kubelets of the nodes that these pods need",
        ),
        "features.PodLevelResources": RuleWords(
            "pod-level-resources", "spec.resources of a pod counts as its request", "spec.resources of a pod is ignored"
        ),
        "features.StorageCapacityScoring": RuleWords(
            "storage-capacity-scores",
            "VolumeBinding prefers nodes by the free storage for volumes that are provisioned",
            "the free storage of nodes does not change their scores",
        ),
        "features.VolumeAttributesClass": RuleWords(
            "volume-attributes-class",
            "a claim is bound only to a volume with the same VolumeAttributesClass",
            "the VolumeAttributesClass of claims is ignored",
        ),
        "features.VolumeLimitScaling": RuleWords(
            "volume-limits-without-driver",
            "nodes without the CSI driver of a volume are rejected",
            "nodes without the CSI driver of a volume have no limit for its volumes",
        ),
        # Devices.
        "devices.allocates": RuleWords(
            "device-allocation", "devices are allocated for ResourceClaims", "ResourceClaims are ignored"
        ),
        "devices.capacity_requests": RuleWords(
            "device-capacity",
            "several claims can share a device and consume its capacity",
            "a device belongs to one claim",
        ),
        "devices.refuses_capacity_requests": RuleWords(
            "device-capacity-refused",
            "a request for capacity of a device is an error",
            "requests for capacity of a device are ignored",
        ),
        "devices.multiple_allocations_visible": RuleWords(
            "multiple-allocations-in-selectors",
            "selectors see allowMultipleAllocations of a device",
            "allowMultipleAllocations is always false in selectors",
        ),
        "devices.distinct_attribute": RuleWords(
            "distinct-attribute", "constraints by distinctAttribute are met", "constraints by distinctAttribute fail"
        ),
        "devices.distinct_compares": RuleWords(
            "distinct-values",
            "distinctAttribute compares the values of devices",
            "distinctAttribute accepts any two devices that have the attribute",
        ),
        "devices.distinct_keeps_all": RuleWords(
            "distinct-from-all",
            "distinctAttribute compares a device with all devices allocated before",
            "distinctAttribute compares a device only with the last one of each request",
        ),
        "devices.partitionable": RuleWords(
            "partitionable-devices",
            "devices can share counters, and select nodes one by one",
            "shared counters of devices are not supported",
        ),
        "devices.counter_slices_count": RuleWords(
            "counter-slices",
            "slices with shared counters belong to their pool although counters are not supported",
            "slices with shared counters are ignored",
        ),
        "devices.counter_slices_everywhere": RuleWords(
            "counter-slices-everywhere",
            "slices with shared counters apply to every node",
            "slices with shared counters apply to the nodes that they select",
        ),
        "devices.counters_by_driver": RuleWords(
            "counters-by-driver",
            "counters are those of the driver's own pool",
            "pools of one name share their counters, even if they belong to different drivers",
        ),
        "devices.taints": RuleWords("device-taints", "taints of devices count", "taints of devices are ignored"),
        "devices.taint_rules": RuleWords(
            "device-taint-rules",
            "DeviceTaintRules taint devices",
            "DeviceTaintRules are ignored",
            advice="review the DeviceTaintRules of the cluster: kubectl get devicetaintrules",
        ),
        "devices.binding_conditions": RuleWords(
            "device-binding-conditions",
            "pods wait for devices that become ready only after their allocation",
            "binding conditions of devices are ignored",
        ),
        "devices.whole_pools": RuleWords(
            "whole-pools",
            "a pool of devices that lacks slices is not used, and its newest generation counts on every node",
            "a pool of devices that lacks slices is used, and its generation counts per node",
            advice="look for incomplete pools: kschedctl devices",
        ),
        "devices.invalid_pool_fails": RuleWords(
            "invalid-pools",
            "an invalid pool of devices ends the scheduling cycle with an error",
            "an invalid pool of devices is ignored",
        ),
        "devices.combinations": RuleWords(
            "device-combinations",
            "a request continues with the device after the last allocated one",
            "a request starts again at the first device",
        ),
        "devices.keeps_alternative": RuleWords(
            "kept-alternative",
            "an alternative with allocation mode All remains chosen after its first device",
            "after a device of an alternative with allocation mode All, the first alternative is tried again",
        ),
        "devices.names_device_in_selector_errors": RuleWords(
            "selector-errors",
            "errors of selectors name the device",
            "errors of selectors do not name the device",
            advice=_TEXTS,
        ),
        "devices.capacity_errors": RuleWords(
            "capacity-errors",
            "capacity that cannot be computed ends the scheduling cycle with an error",
            "a device whose capacity cannot be computed is skipped",
        ),
        "devices.all_fails_on_used_capacity": RuleWords(
            "all-with-used-capacity",
            "allocation mode All fails if a device has too little capacity left",
            "allocation mode All leaves out devices with too little capacity left",
        ),
        "devices.hides_compatibility_groups": RuleWords(
            "compatibility-groups",
            "slices with devices of compatibility groups are ignored, so that their pool is incomplete",
            "compatibility groups of devices are ignored",
        ),
        "devices.refuses_derived_attributes": RuleWords(
            "derived-attributes",
            "a request with derived attributes is an error",
            "derived attributes of requests are ignored",
        ),
        "devices.optional_node_operations": RuleWords(
            "optional-node-operations",
            "an allocation that skips node operations requires a node that declares this feature",
            "skipNodeOperations is ignored",
        ),
        "devices.ownership_problem": RuleWords(
            "claim-of-another-pod", "the message about a claim that was made for another pod", advice=_TEXTS
        ),
        "devices.silent_post_filter": RuleWords(
            "nothing-to-deallocate",
            "DynamicResources gives no reason if it has no claim to deallocate",
            "DynamicResources says that it has no claim to deallocate",
            advice=_TEXTS,
        ),
        "devices.score_needs_new_allocations": RuleWords(
            "scores-of-allocated-claims",
            "scoring fails for a pod whose claims were allocated before",
            "a pod whose claims were allocated before is scored as any other",
        ),
        # Pod groups.
        "pod_group_rules.checks_members": RuleWords(
            "members-are-checked",
            "members of another priority or preemption policy than their group's are an error",
            "members can have other priorities than their group",
            advice="give all members of a group its PriorityClass",
        ),
        "pod_group_rules.members_preempt": RuleWords(
            "members-preempt", "a member that fits nowhere preempts for itself", "only the group preempts, as a whole"
        ),
        "pod_group_rules.permit_decides": RuleWords(
            "group-success",
            "the group succeeds if its members pass Permit",
            "the group succeeds if its placement is feasible",
        ),
        "pod_group_rules.stays_on_nodes": RuleWords(
            "members-stay-on-nodes",
            "members stay on the nodes that were found without the victims",
            "the group is tried again for every victim that is put back",
        ),
        "pod_group_rules.victims_have_group_priority": RuleWords(
            "victims-of-groups",
            "a pod of a group is a victim by the priority of its group, with all members if the disruption mode is all",
            "a pod of a group is a victim by its own priority, without the others",
        ),
        "pod_group_rules.victims_are_counted": RuleWords(
            "victims-of-the-own-group",
            "a member that is evicted for its own group does not count for minCount",
            "a member that is evicted for its own group counts for minCount",
        ),
        "pod_group_rules.says_preemption": RuleWords(
            "group-message",
            "the message of a group has the outcome of preemption even if it succeeds",
            "the message of a group has the outcome of preemption only if it fails",
            advice=_TEXTS,
        ),
        "pod_group_rules.preempts_in_placements": RuleWords(
            "preemption-with-topology",
            "a group with topology constraints can preempt",
            "a group with topology constraints does not preempt",
        ),
    }
)
