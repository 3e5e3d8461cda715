"""The differences between Kubernetes releases, as data: default plugins, feature gates, messages and formulas.

Plugins read these from a ``Release``. No code compares version numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.feature_gates import gate_defaults, idle_gates, known_gates
from kschedctl.objects.releases.rules import (
    DEVICES_1_33,
    DEVICES_1_34,
    DEVICES_1_35,
    DEVICES_1_36,
    DEVICES_1_37,
    DEVICES_1_37_1,
    DEVICES_1_38,
    GENERIC_WORKLOAD,
    POD_GROUP_GATES_1_36,
    POD_GROUP_GATES_1_37,
    POD_GROUP_GATES_1_38,
    POD_GROUPS_1_36,
    POD_GROUPS_1_37,
    POD_GROUPS_1_38,
    QUEUE_1_34,
    QUEUE_1_35,
    QUEUE_1_36,
    QUEUE_1_37,
    QUEUE_1_38,
    TOPOLOGY_AWARE,
    VALIDATION_1_34,
    VALIDATION_1_35,
    VALIDATION_1_36,
    VALIDATION_1_37,
    VALIDATION_1_38,
    DeviceRules,
    PodGroupRules,
    QueueRules,
    ValidationRules,
    VictimTies,
)

#: The default profile: multiPoint plugins in order, with their weights; 0 if none is set.
_DEFAULT_PLUGINS: Final = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 0),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
)

#: The modelled feature gates, with their defaults in 1.34.
_GATES: Final = {
    "InPlacePodVerticalScaling": True,
    "MatchLabelKeysInPodTopologySpread": True,
    "NodeInclusionPolicyInPodTopologySpread": True,
    "PodLevelResources": True,
    "StorageCapacityScoring": False,
    "VolumeAttributesClass": True,
}
#: The modelled gates that are off by default in 1.33 and on in 1.34.
_OFF_IN_1_33: Final = {"PodLevelResources": False, "VolumeAttributesClass": False}
#: The modelled gates added in 1.35: off by default there, and on in 1.36.
_GATES_OF_1_35: Final = ("InPlacePodLevelResourcesVerticalScaling", "NodeDeclaredFeatures")
_GATES_OF_1_36: Final = _GATES | dict.fromkeys(_GATES_OF_1_35, True) | {"VolumeLimitScaling": False}
#: The features that nodes declare, as of 1.35.
_DECLARED_FEATURES: Final = frozenset({"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"})
#: The gates of the queue, which do not affect the decision for a single pod, with their defaults in 1.34.
_QUEUE_GATES: Final = {"SchedulerAsyncPreemption": True, "SchedulerPopFromBackoffQ": True}
#: The plugins that gates add to the default profile: the gate, the plugin, and its weight; 0 if none is set.
_GATED_PLUGINS: Final = (("NodeDeclaredFeatures", "NodeDeclaredFeatures", 0),)
#: The pair of a plugin and an extension point that it has from 1.38 on only.
_RESERVE_OF_1_38: Final = frozenset({("DefaultPreemption", "reserve")})
#: Pairs of a plugin and an extension point that it has from 1.37 on only.
_PRE_FILTERS_OF_1_37: Final = frozenset(
    (name, "preFilter") for name in ("NodeName", "NodeUnschedulable", "TaintToleration")
)
#: The fields of a KubeSchedulerConfiguration that are new in 1.38.
_CONFIG_OF_1_38: Final = frozenset({"placementFeasible", "percentageOfPlacementsToScore"})
#: Plugins for pod groups, which a configuration may list while their gates are off, with their extension points.
_INERT_IN_1_36: Final[Mapping[str, frozenset[str]]] = {
    "GangScheduling": frozenset({"preEnqueue", "permit"}),
    "TopologyPlacementGenerator": frozenset({"placementGenerate"}),
    "PodGroupPodsCount": frozenset({"placementScore"}),
}


@dataclass(frozen=True, slots=True)
class Release:
    """The scheduling rules of a Kubernetes release, as far as they differ from other releases.

    Attributes
    ----------
    version : str
        ``major.minor``.
    ungated_plugins : tuple of (str, int)
        The multiPoint plugins that the default profile always has, in order, with their weights; 0 if none is set.
    dynamic_resources_scores : bool
        True if DynamicResources is a Score plugin.
    balanced_allocation_compares : bool
        True if NodeResourcesBalancedAllocation scores the change of the balance by the pod; else the balance with the
        pod.
    image_volumes_have_locality : bool
        True if ImageLocality counts images mounted as volumes.
    image_volumes_raise_threshold : bool
        True if images mounted as volumes raise the upper threshold of ImageLocality.
    devices_back_extended_resources : bool
        True if a DeviceClass can back an extended resource.
    portworx_needs_annotation : bool
        True if Portworx volumes count as CSI volumes only on nodes whose CSINode has the migration annotation.
    dynamic_resources_binding_timeout : bool
        True if DynamicResources has a binding timeout (the gate DRADeviceBindingConditions).
    capacity_ratio_follows_type : bool
        True if NodeResourcesFit accepts ``requestedToCapacityRatio`` only with the scoring strategy of that type.
    absent_points : frozenset of (str, str)
        Plugins and extension points that exist in other releases, but not in this one.
    inert_plugins : mapping of str to frozenset of str
        Plugins that a configuration may list without effect while their feature gates are off. The values are the
        extension points at which they may be listed.
    declared_features : frozenset of str
        The features that pods may need and nodes declare (NodeDeclaredFeatures).
    resizes_count_in_totals : bool
        True if desired, allocated and actuated resources are summed over a running pod before the maximum of each
        resource is computed; else the maximum is computed per container.
    gated_pods_keep_nomination : bool
        True if a pod that PreEnqueue rejects counts on its nominated node.
    preemption_names_node : bool
        True if the message of a successful preemption names the node.
    victim_ties : VictimTies
        The order of pods of the same priority and start among the victims of preemption.
    needless_preemption_fails : bool
        True if preemption is an error on a node on which the pod fits without evictions; else the node is none for it.
    empty_budget_selector_protects : bool
        True if a disruption budget with the selector ``{}`` protects all pods of its namespace from preemption, and
        others protect pods without labels too.
    counts_up_to_violated_budget : bool
        True if a possible victim counts against its disruption budgets only up to the first that it violates; else
        against all of them.
    names_untolerated_taint : bool
        True if the message of TaintToleration names the untolerated taint.
    fit_gives_up : bool
        True if NodeResourcesFit returns UnschedulableAndUnresolvable for a node with less allocatable than requested,
        because evicting pods does not help.
    empty_spread_selector_counts : bool
        True if PodTopologySpread counts the pods of the namespace for a constraint with the selector ``{}``; else none.
    fit_scores_pod_level_resources : bool
        True if NodeResourcesFit scores the resources in ``spec.resources``; else those of the containers.
    sums_saturate : bool
        True if the sum of the requests on a node stays at 2^63-1 where it would exceed it; else it wraps around.
    fractions_are_exact : bool
        True if the shares that NodeResourcesFit scores are computed with 128 bits; else amounts above 2^63/100
        overflow.
    volume_sizes_are_exact : bool
        True if VolumeBinding compares the size of a claim with free capacity exactly; else as 64-bit numbers of bytes.
    claim_in_use : str
        The message of VolumeRestrictions if another pod uses a ReadWriteOncePod claim.
    absent_config_fields : frozenset of str
        The fields of a KubeSchedulerConfiguration that this release does not know.
    plugins_without_args : frozenset of str
        Plugins with args in other releases only. Their args are ignored.
    features : mapping of str to bool
        The modelled feature gates.
    queue_gates : mapping of str to bool
        The modelled gates that affect many pods only: the queue and the steps around a scheduling cycle.
    idle_gates : tuple of str
        Gates that are set but affect no decision.
    devices : DeviceRules
        The rules of device allocation.
    queue : QueueRules
        The rules of the scheduling queue and of the steps around a scheduling cycle.
    pod_group_rules : PodGroupRules or None
        The rules of pod groups; ``None`` if they are not modelled in this release.
    gate_dependencies : mapping of str to tuple of str
        The gates that depend on others, and those.
    validation : ValidationRules
        The API server's validation rules that differ from other releases.
    """

    #: ``major.minor``.
    version: str
    #: The multiPoint plugins that the default profile always has, in order, with their weights; 0 if none is set.
    ungated_plugins: tuple[tuple[str, int], ...]
    #: The modelled feature gates.
    features: Mapping[str, bool]
    #: The modelled gates that affect many pods only: the queue and the steps around a scheduling cycle.
    queue_gates: Mapping[str, bool]
    #: True if DynamicResources is a Score plugin.
    dynamic_resources_scores: bool
    #: True if NodeResourcesBalancedAllocation scores the change of the balance by the pod; else the balance with
    #: the pod.
    balanced_allocation_compares: bool
    #: True if ImageLocality counts images mounted as volumes.
    image_volumes_have_locality: bool
    #: True if a DeviceClass can back an extended resource.
    devices_back_extended_resources: bool
    #: True if Portworx volumes count as CSI volumes only on nodes whose CSINode has the migration annotation.
    portworx_needs_annotation: bool
    #: True if DynamicResources has a binding timeout (the gate DRADeviceBindingConditions).
    dynamic_resources_binding_timeout: bool
    #: True if NodeResourcesFit accepts ``requestedToCapacityRatio`` only with the scoring strategy of that type.
    capacity_ratio_follows_type: bool
    #: True if images mounted as volumes raise the upper threshold of ImageLocality.
    image_volumes_raise_threshold: bool
    #: Plugins and extension points that exist in other releases, but not in this one.
    absent_points: frozenset[tuple[str, str]]
    #: Plugins that a configuration may list without effect while their feature gates are off. The values are the
    #: extension points at which they may be listed.
    inert_plugins: Mapping[str, frozenset[str]]
    #: The features that pods may need and nodes declare (NodeDeclaredFeatures).
    declared_features: frozenset[str]
    #: True if desired, allocated and actuated resources are summed over a running pod before the maximum of each
    #: resource is computed; else the maximum is computed per container.
    resizes_count_in_totals: bool
    #: True if a pod that PreEnqueue rejects counts on its nominated node.
    gated_pods_keep_nomination: bool
    #: True if the message of a successful preemption names the node.
    preemption_names_node: bool
    #: The order of pods of the same priority and start among the victims of preemption.
    victim_ties: VictimTies
    #: True if preemption is an error on a node on which the pod fits without evictions; else the node is none for it.
    needless_preemption_fails: bool
    #: True if a disruption budget with the selector ``{}`` protects all pods of its namespace from preemption, and
    #: others protect pods without labels too.
    empty_budget_selector_protects: bool
    #: True if a possible victim counts against its disruption budgets only up to the first that it violates; else
    #: against all of them.
    counts_up_to_violated_budget: bool
    #: True if the message of TaintToleration names the untolerated taint.
    names_untolerated_taint: bool
    #: True if NodeResourcesFit returns UnschedulableAndUnresolvable for a node with less allocatable than
    #: requested, because evicting pods does not help.
    fit_gives_up: bool
    #: True if PodTopologySpread counts the pods of the namespace for a constraint with the selector ``{}``; else none.
    empty_spread_selector_counts: bool
    #: True if NodeResourcesFit scores the resources in ``spec.resources``; else those of the containers.
    fit_scores_pod_level_resources: bool
    #: True if the sum of the requests on a node stays at 2^63-1 where it would exceed it; else it wraps around.
    sums_saturate: bool
    #: True if the shares that NodeResourcesFit scores are computed with 128 bits; else amounts above 2^63/100
    #: overflow.
    fractions_are_exact: bool
    #: True if VolumeBinding compares the size of a claim with free capacity exactly; else as 64-bit numbers of bytes.
    volume_sizes_are_exact: bool
    #: The message of VolumeRestrictions if another pod uses a ReadWriteOncePod claim.
    claim_in_use: str
    #: The fields of a KubeSchedulerConfiguration that this release does not know.
    absent_config_fields: frozenset[str]
    #: Plugins with args in other releases only. Their args are ignored.
    plugins_without_args: frozenset[str]
    #: The rules of device allocation.
    devices: DeviceRules
    #: The rules of the scheduling queue and of the steps around a scheduling cycle.
    queue: QueueRules
    #: The rules of pod groups; ``None`` if they are not modelled in this release.
    pod_group_rules: PodGroupRules | None
    #: The gates that depend on others, and those.
    gate_dependencies: Mapping[str, tuple[str, ...]]
    #: The API server's validation rules that differ from other releases.
    validation: ValidationRules
    #: Gates that are set but affect no decision.
    idle_gates: tuple[str, ...] = ()

    @property
    def locked_features(self) -> frozenset[str]:
        """The modelled gates that are locked in this release, or on for good and no longer a gate."""
        known = known_gates(self.version)
        return frozenset(name for name in self.features if name not in known or known[name].locked)

    @property
    def default_plugins(self) -> tuple[tuple[str, int], ...]:
        """The multiPoint plugins of the default profile; those added by a feature gate come last."""
        gated = [*_GATED_PLUGINS]
        if self.pod_group_rules is not None:
            gated += [
                (self.pod_group_rules.gang_gate, "GangScheduling", 0),
                (TOPOLOGY_AWARE, "TopologyPlacementGenerator", 0),
                (TOPOLOGY_AWARE, "PodGroupPodsCount", 1),
            ]
        return self.ungated_plugins + tuple((name, weight) for gate, name, weight in gated if self.enabled(gate))

    @property
    def disabled_points(self) -> frozenset[tuple[str, str]]:
        """The pairs of a plugin and an extension point that the default profile disables."""
        return frozenset() if self.enabled(GENERIC_WORKLOAD) else _RESERVE_OF_1_38

    @property
    def pod_groups(self) -> PodGroupRules | None:
        """The rules of pod groups; ``None`` if pods are scheduled one by one, whatever group they name."""
        return self.pod_group_rules if self.enabled(GENERIC_WORKLOAD) else None

    @property
    def gangs(self) -> bool:
        """True if the plugin GangScheduling exists."""
        return self.pod_group_rules is not None and self.enabled(self.pod_group_rules.gang_gate)

    @property
    def places_groups(self) -> bool:
        """True if the placements of a group are tried one by one."""
        return self.pod_groups is not None and self.enabled(TOPOLOGY_AWARE)

    @property
    def groups_preempt(self) -> bool:
        """True if a group preempts as a whole."""
        return self.pod_groups is not None and self.enabled(self.pod_groups.preemption_gate)

    def enabled(self, gate: str) -> bool:
        """Report whether a feature gate is on; a gate that is not modelled in this release is off."""
        return self.features.get(gate, self.queue_gates.get(gate, False))

    def api_server_has(self, gate: str) -> bool:
        """Report whether a feature gate is on in the API server.

        The scheduler's setting counts if the gate is modelled, else the release's default.
        """
        if gate in self.validation.permanent_gates:
            return True
        known = self.features.get(gate)
        return gate_defaults(self.version).get(gate, False) if known is None else known

    def with_features(self, gates: Mapping[str, bool]) -> "Release":
        """Return the same release with some feature gates set.

        Raises
        ------
        UnsupportedError
            If kube-scheduler of this release refuses a gate, or a gate would change decisions and is not modelled.
        """
        idle = idle_gates(self.version, gates, self.features)
        modelled = {name: value for name, value in gates.items() if name in self.features}
        queue = {name: value for name, value in gates.items() if name in self.queue_gates}
        new = replace(
            self,
            features=MappingProxyType({**self.features, **modelled}),
            queue_gates=MappingProxyType({**self.queue_gates, **queue}),
            idle_gates=idle,
        )
        for gate, others in self.gate_dependencies.items():
            off = [other for other in others if not new.enabled(other)]
            if new.enabled(gate) and off:
                text = f"{gate} is enabled, but depends on features that are disabled: [{' '.join(off)}]"
                raise UnsupportedError(text, hint=f"add {','.join(f'{other}=true' for other in off)}")
        return new


def _weighted(plugins: tuple[tuple[str, int], ...], **weights: int) -> tuple[tuple[str, int], ...]:
    return tuple((name, weights.get(name, weight)) for name, weight in plugins)


def _without_plugin(plugins: tuple[tuple[str, int], ...], name: str) -> tuple[tuple[str, int], ...]:
    return tuple(plugin for plugin in plugins if plugin[0] != name)


def _moved(plugins: tuple[tuple[str, int], ...], name: str, *, before: str) -> tuple[tuple[str, int], ...]:
    """Return the plugins with plugin ``name`` moved to the position before another one."""
    moved = next(plugin for plugin in plugins if plugin[0] == name)
    others = [plugin for plugin in plugins if plugin[0] != name]
    at = next(i for i, plugin in enumerate(others) if plugin[0] == before)
    return (*others[:at], moved, *others[at:])


_V1_34: Final = Release(
    version="1.34",
    ungated_plugins=_DEFAULT_PLUGINS,
    features=MappingProxyType(_GATES),
    queue_gates=MappingProxyType(_QUEUE_GATES),
    dynamic_resources_scores=False,
    balanced_allocation_compares=False,
    image_volumes_have_locality=False,
    devices_back_extended_resources=False,
    portworx_needs_annotation=True,
    dynamic_resources_binding_timeout=False,
    capacity_ratio_follows_type=False,
    image_volumes_raise_threshold=False,
    absent_points=_PRE_FILTERS_OF_1_37 | _RESERVE_OF_1_38,
    inert_plugins=MappingProxyType({}),
    declared_features=_DECLARED_FEATURES,
    resizes_count_in_totals=False,
    gated_pods_keep_nomination=False,
    preemption_names_node=False,
    victim_ties=VictimTies.UNSTARTED_REVERSED,
    needless_preemption_fails=True,
    empty_budget_selector_protects=False,
    counts_up_to_violated_budget=False,
    names_untolerated_taint=False,
    fit_gives_up=True,
    empty_spread_selector_counts=False,
    fit_scores_pod_level_resources=False,
    sums_saturate=False,
    fractions_are_exact=False,
    volume_sizes_are_exact=False,
    claim_in_use=(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
        "pod"
    ),
    absent_config_fields=frozenset(
        {"bindingTimeout", "placementGenerate", "placementScore", "podGroupPostFilter", *_CONFIG_OF_1_38}
    ),
    plugins_without_args=frozenset(),
    devices=DEVICES_1_34,
    queue=QUEUE_1_34,
    pod_group_rules=None,
    gate_dependencies=MappingProxyType({}),
    validation=VALIDATION_1_34,
)
_V1_33: Final = replace(
    _V1_34,
    version="1.33",
    ungated_plugins=_without_plugin(_DEFAULT_PLUGINS, "DynamicResources"),
    features=MappingProxyType(_GATES | _OFF_IN_1_33),
    names_untolerated_taint=True,
    fit_gives_up=False,
    claim_in_use="node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    plugins_without_args=frozenset({"DynamicResources"}),
    devices=DEVICES_1_33,
)
_V1_35: Final = replace(
    _V1_34,
    version="1.35",
    ungated_plugins=_weighted(_DEFAULT_PLUGINS, DynamicResources=2),
    features=MappingProxyType(_GATES | dict.fromkeys(_GATES_OF_1_35, False)),
    queue_gates=MappingProxyType(_QUEUE_GATES | {"OpportunisticBatching": True}),
    dynamic_resources_scores=True,
    inert_plugins=MappingProxyType({"GangScheduling": frozenset({"preEnqueue", "reserve", "permit"})}),
    absent_config_fields=frozenset({"placementGenerate", "placementScore", "podGroupPostFilter", *_CONFIG_OF_1_38}),
    devices=DEVICES_1_35,
    queue=QUEUE_1_35,
    validation=VALIDATION_1_35,
)
_V1_36: Final = replace(
    _V1_35,
    version="1.36",
    features=MappingProxyType(_GATES_OF_1_36 | dict.fromkeys(POD_GROUP_GATES_1_36, False)),
    pod_group_rules=POD_GROUPS_1_36,
    gate_dependencies=MappingProxyType(POD_GROUP_GATES_1_36),
    inert_plugins=MappingProxyType(_INERT_IN_1_36),
    balanced_allocation_compares=True,
    image_volumes_have_locality=True,
    devices_back_extended_resources=True,
    portworx_needs_annotation=False,
    dynamic_resources_binding_timeout=True,
    capacity_ratio_follows_type=True,
    absent_config_fields=frozenset({"podGroupPostFilter", *_CONFIG_OF_1_38}),
    devices=DEVICES_1_36,
    queue=QUEUE_1_36,
    validation=VALIDATION_1_36,
)
_V1_37: Final = replace(
    _V1_36,
    version="1.37",
    ungated_plugins=_moved(_V1_36.ungated_plugins, "NodeName", before="NodeUnschedulable"),
    features=MappingProxyType(
        _GATES_OF_1_36
        | {"StorageCapacityScoring": True, "VolumeLimitScaling": True}
        | dict.fromkeys(POD_GROUP_GATES_1_37, False)
    ),
    pod_group_rules=POD_GROUPS_1_37,
    gate_dependencies=MappingProxyType(POD_GROUP_GATES_1_37),
    image_volumes_raise_threshold=True,
    absent_points=_RESERVE_OF_1_38,
    inert_plugins=MappingProxyType(
        {**_INERT_IN_1_36, "DeferredPodScheduling": frozenset({"preFilter", "filter", "permit"})}
    ),
    declared_features=_DECLARED_FEATURES | {"VolumeBindMountOptions"},
    resizes_count_in_totals=True,
    gated_pods_keep_nomination=True,
    preemption_names_node=True,
    victim_ties=VictimTies.AS_THEY_CAME,
    counts_up_to_violated_budget=True,
    absent_config_fields=_CONFIG_OF_1_38,
    devices=DEVICES_1_37,
    queue=QUEUE_1_37,
    validation=VALIDATION_1_37,
)
_V1_38: Final = replace(
    _V1_37,
    version="1.38",
    features=MappingProxyType(
        _GATES_OF_1_36
        | {"StorageCapacityScoring": True, "VolumeLimitScaling": True}
        | dict.fromkeys(POD_GROUP_GATES_1_38, False)
    ),
    pod_group_rules=POD_GROUPS_1_38,
    gate_dependencies=MappingProxyType(POD_GROUP_GATES_1_38),
    absent_points=frozenset({("GangScheduling", "permit")}),
    inert_plugins=MappingProxyType(
        {**_V1_37.inert_plugins, "GangScheduling": frozenset({"preEnqueue", "placementFeasible"})}
    ),
    absent_config_fields=frozenset(),
    declared_features=_V1_37.declared_features | {"PodCertificateMLDSA", "SecurityProfileOCI"},
    victim_ties=VictimTies.BY_UID,
    needless_preemption_fails=False,
    empty_budget_selector_protects=True,
    empty_spread_selector_counts=True,
    fit_scores_pod_level_resources=True,
    sums_saturate=True,
    fractions_are_exact=True,
    volume_sizes_are_exact=True,
    devices=DEVICES_1_38,
    queue=QUEUE_1_38,
    validation=VALIDATION_1_38,
)

#: The modelled releases, oldest first.
RELEASES: Final[Mapping[str, Release]] = MappingProxyType(
    {r.version: r for r in (_V1_33, _V1_34, _V1_35, _V1_36, _V1_37, _V1_38)}
)
#: The patch releases that changed rules, by minor release: the number of the patch release and the rules from there on,
#: oldest first. Before the first of them, and where the patch release is not known, the rules of ``RELEASES`` count.
PATCH_RELEASES: Final[Mapping[str, tuple[tuple[int, Release], ...]]] = MappingProxyType(
    {"1.37": ((1, replace(_V1_37, devices=DEVICES_1_37_1)),)}
)
#: The newest release that Kubernetes has published: the rules for a cluster whose version is not known.
LATEST: Final = _V1_37
