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
            "plugins have the extension points of {release}: since 1.37 NodeName, NodeUnschedulable and "
            "TaintToleration run at PreFilter, too; since 1.38 GangScheduling does not run at Permit",
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
        "declared_features": RuleWords(
            "features-to-declare",
            "pods that need these features run only on nodes that declare them",
            advice="upgrade the kubelets of nodes for pods that need one",
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
        "victim_ties": RuleWords(
            "order-of-equal-victims",
            "pods of the same priority and start are victims in this order",
            advice="give pods that must stay a higher priority",
        ),
        "needless_preemption_fails": RuleWords(
            "preemption-without-victims",
            "preemption fails with an error on a node that the pod fits on without evictions",
            "preemption ignores a node that the pod fits on without evictions",
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
            advice="select the pods' own labels, or remove the constraint, which has no effect: lint finds it (KS129)",
        ),
        "empty_budget_selector_protects": RuleWords(
            "empty-budget-selector",
            "a disruption budget with selector {} protects every pod of its namespace from preemption",
            "a disruption budget with selector {} protects no pod from preemption",
            advice="select the pods' own labels: lint finds the budget (KS315)",
        ),
        "fit_scores_pod_level_resources": RuleWords(
            "scores-of-pod-level-resources",
            "NodeResourcesFit scores a pod by its spec.resources",
            "NodeResourcesFit scores a pod by the requests of its containers, or 100m cpu and 200Mi memory for each",
        ),
        "sums_saturate": RuleWords(
            "sums-of-requests",
            "a sum of requests on a node stays at 2^63-1",
            "a sum of requests on a node wraps around at 2^63, so that the node seems to have capacity",
            advice="correct requests near 8Ei",
        ),
        "fractions_are_exact": RuleWords(
            "exact-fractions",
            "scores of NodeResourcesFit are exact for any amount",
            "scores of NodeResourcesFit overflow for amounts above 2^63/100, some 92 PB",
        ),
        "volume_sizes_are_exact": RuleWords(
            "exact-volume-sizes",
            "a claim is compared exactly with the free storage of a node",
            "a claim of 10Ei fits 9Ei of free storage, as both count as 2^63-1 bytes",
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
        "devices.lists_readable": RuleWords(
            "list-attributes",
            "selectors read attributes with a list of values",
            "an attribute with a list of values has no readable value",
        ),
        "devices.taint_rules_need_selector": RuleWords(
            "taint-rules-without-selector",
            "a DeviceTaintRule without deviceSelector taints no device",
            "a DeviceTaintRule without deviceSelector taints every device",
            advice="write deviceSelector: {} where every device is meant (so decides 1.37 since 1.37.1)",
        ),
        "devices.values_are_parsed": RuleWords(
            "device-versions",
            "versions of devices are compared by semver, and a value that cannot be read fails what reads it",
            "versions of devices are compared as texts, and one that cannot be read fails every selector",
        ),
        "devices.names_have_domains": RuleWords(
            "names-with-domains",
            "a name of a capacity or attribute without a domain has the driver's: memory is gpu.example.com/memory",
            "names of capacities are compared as they are written",
            advice="request each capacity once, by one of its names",
        ),
        "devices.refuses_negative_capacity": RuleWords(
            "negative-capacity",
            "negative capacity is an error, requested or consumed",
            "a policy can raise a negative request, and negative consumed capacity is accepted",
        ),
        "devices.fractional_ranges": RuleWords(
            "fractional-ranges",
            "ranges of capacity are computed in thousandths",
            "the limits and steps of ranges of capacity, and requests, are rounded up to whole units",
        ),
        "devices.shares_block_whole_devices": RuleWords(
            "devices-no-longer-shared",
            "a device that can no longer be shared is in use while a claim has a share of it",
            "a device that can no longer be shared can be allocated although a claim has a share of it",
        ),
        "devices.counts_by_request": RuleWords(
            "device-limit",
            "the limit of 32 devices is checked request by request, and the error names the request",
            "the limit of 32 devices is checked once for a claim",
            advice=_TEXTS,
        ),
        "devices.all_rejects_node": RuleWords(
            "all-with-bad-pools",
            "allocation mode All rejects the nodes of an incomplete or invalid pool, and other nodes are tried",
            "allocation mode All ends the scheduling cycle with an error at an incomplete or invalid pool",
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
            "a pod of a group is a victim by the priority of its group",
            "a pod of a group is a victim by its own priority",
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
        "pod_group_rules.pods_preempt_whole_groups": RuleWords(
            "victims-of-whole-groups",
            "a pod that preempts a member of a group with disruption mode all preempts all members",
            "a pod preempts single members of a group, whatever its disruption mode",
        ),
        "pod_group_rules.units_have_group_priority": RuleWords(
            "priority-of-whole-groups",
            "a group that is evicted as a whole counts by its own priority",
            "a group that is evicted as a whole counts by the priority of its pods",
        ),
        "pod_group_rules.single_members_rank_as_group": RuleWords(
            "rank-of-single-members",
            "a pod of a group with disruption mode single is a more important victim than a pod without a group",
            "a pod of a group with disruption mode single ranks as a pod without a group",
        ),
        "pod_group_rules.no_group": RuleWords("no-group", "the message for a pod without its PodGroup", advice=_TEXTS),
        "pod_group_rules.too_few": RuleWords("too-few", "the message for a group with too few pods", advice=_TEXTS),
        "pod_group_rules.threshold": RuleWords(
            "group-threshold", "the message for a group with too few pods on nodes", advice=_TEXTS
        ),
        "pod_group_rules.nothing_fits": RuleWords(
            "group-without-nodes", "the message for a group of which no pod fits", advice=_TEXTS
        ),
        "pod_group_rules.prefixes_messages": RuleWords(
            "group-prefix",
            "messages of groups begin with pod group is unschedulable",
            "messages of groups have no such beginning",
            advice=_TEXTS,
        ),
        "pod_group_rules.members_name_parent": RuleWords(
            "members-name-group",
            "a member that fails for its group's sake names the group only",
            "a member that fails for its group's sake has the message of the group",
            advice=_TEXTS,
        ),
        "pod_group_rules.checks_hierarchy": RuleWords(
            "check-of-groups",
            "members are compared with the first one and their tree's root, and the group's preemption policy counts",
            "members are compared with their group, whose preemption policy needs a feature gate",
            advice="give all members of a group its PriorityClass and preemption policy",
        ),
        "pod_group_rules.ignores_empty_domains": RuleWords(
            "empty-domains",
            "nodes with an empty value of the topology label are in no domain",
            "nodes with an empty value of the topology label are a domain",
        ),
        "pod_group_rules.nominated_placement_first": RuleWords(
            "nominated-placement",
            "the placement with the nominated node is tried first, and taken if a member fits",
            "all placements are tried, whatever node is nominated",
        ),
        "pod_group_rules.samples_placements": RuleWords(
            "sampled-placements",
            "the search ends at a share of the placements (percentageOfPlacementsToScore)",
            "all placements are tried",
        ),
        "pod_group_rules.ranks_nodes": RuleWords(
            "cheapest-victims-first",
            "a group that preempts takes the nodes with the cheapest victims, whatever their scores",
            "a group that preempts takes the nodes with the highest scores",
        ),
        "pod_group_rules.no_victims_is_final": RuleWords(
            "group-without-victims",
            "a group without a possible victim has no message of other plugins",
            "a group without a possible victim has the messages of other plugins, too",
            advice=_TEXTS,
        ),
        "pod_group_rules.clears_lower_nominations": RuleWords(
            "nominations-of-groups",
            "pods of lower priority lose their nomination to the nodes that a preempting group takes",
            "pods of lower priority keep their nomination to the nodes that a preempting group takes",
        ),
    }
)
