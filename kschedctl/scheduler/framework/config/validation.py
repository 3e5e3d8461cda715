"""Validation rules for a KubeSchedulerConfiguration as a whole (``ValidateKubeSchedulerConfiguration``).

The rules that depend on the existing plugins are in ``profile``.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from kschedctl.common.errors import ConfigError
from kschedctl.common.findings import Finding
from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import duplicate, forbidden, go_json, invalid, required, unsupported
from kschedctl.objects.names import extended_resource_problems, label_value_problems, qualified_name_problems
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import TOPOLOGY_AWARE
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    parse_int64,
)
from kschedctl.scheduler.framework.config import types as api
from kschedctl.scheduler.framework.config.types import (
    API_VERSION,
    ExtenderConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginSet,
)
from kschedctl.scheduler.framework.extension_point import ExtensionPoint


def child(path: str, name: str) -> str:
    """Return the path of a field of the object at ``path``."""
    return f"{path}.{name}" if path else name


class Problems:
    """The problems of a configuration found so far, in order and without duplicates."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}

    def add(self, path: str, text: str) -> None:
        """Record a problem with its own text."""
        self.note(Finding(text, path))

    def note(self, *findings: Finding) -> None:
        """Record findings."""
        self._found |= dict.fromkeys(findings)

    @property
    def found(self) -> tuple[Finding, ...]:
        """All findings so far."""
        return tuple(self._found)

    def raise_if_any(self, where: str) -> None:
        """Raise one error with all problems, if there are any.

        Raises ConfigError if a problem was recorded.
        """
        ConfigError.raise_any(self._found, where)


_REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_REMOVED_TEXT: Final = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


def validate(config: KubeSchedulerConfiguration, release: Release) -> Iterator[Finding]:
    """Yield the problems for which kube-scheduler rejects the configuration, in kube-scheduler's order."""
    if config.client_connection.burst < 0:
        yield invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")
    yield from _check_leader_election(config.leader_election)
    if config.parallelism <= 0:
        yield invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    seen: dict[str, int] = {}
    for i, profile in enumerate(config.profiles):
        path, name = f"profiles[{i}]", profile.scheduler_name or ""
        if not name:
            yield required(f"{path}.schedulerName")
        yield from _check_percentage(profile.percentage_of_nodes_to_score, f"{path}.percentageOfNodesToScore")
        placements = profile.percentage_of_placements_to_score
        yield from _check_placements(placements, f"{path}.percentageOfPlacementsToScore", release)
        yield from _check_removed_plugins(profile, path, release)
        if name in seen:
            yield duplicate(f"{path}.schedulerName", name)
        seen[name] = i
    yield from _check_one_queue_sort(config.profiles)
    yield from _check_percentage(config.percentage_of_nodes_to_score, "percentageOfNodesToScore")
    yield from _check_placements(config.percentage_of_placements_to_score, "percentageOfPlacementsToScore", release)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        yield invalid("podMaxBackoffSeconds", longest, "must be greater than or equal to PodInitialBackoffSeconds")
    yield from _check_extenders(config.extenders)


def _check_leader_election(election: LeaderElection) -> Iterator[Finding]:
    if not election.leader_elect:
        return
    spans = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, span in spans.items():
        if span <= Duration():
            yield invalid(f"leaderElection.{name}", str(span), "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        # kube-scheduler names the field leaseDuration but prints the value of renewDeadline.
        text = "must be greater than `RenewDeadline`"
        yield invalid("leaderElection.leaseDuration", str(election.renew_deadline), text)
    if election.resource_lock != "leases":
        text = 'resourceLock value must be "leases"'
        yield invalid("leaderElection.resourceLock", election.resource_lock, text)


def _check_percentage(percentage: int | None, path: str) -> Iterator[Finding]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _check_placements(percentage: int | None, path: str, release: Release) -> Iterator[Finding]:
    if percentage is not None and not release.enabled(TOPOLOGY_AWARE):
        text = f"percentageOfPlacementsToScore requires {TOPOLOGY_AWARE} feature gate to be enabled"
        yield forbidden(path, text)
    else:
        yield from _check_percentage(percentage, path)


def _check_removed_plugins(profile: KubeSchedulerProfile, path: str, release: Release) -> Iterator[Finding]:
    checks_placements = ExtensionPoint.PLACEMENT_FEASIBLE not in release.absent_config_fields
    for point in ExtensionPoint:
        if point in (ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE) and not checks_placements:
            continue
        for i, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in _REMOVED:
                yield invalid(f"{path}.plugins.{point}.enabled[{i}]", plugin.name, _REMOVED_TEXT)
    seen = set()
    for i, config in enumerate(profile.plugin_config):
        config_path = f"{path}.pluginConfig[{i}]"
        if config.name in seen:
            yield duplicate(config_path, config.name)
        seen.add(config.name)
        if config.name in _REMOVED:
            yield invalid(config_path, config.name, _REMOVED_TEXT)
        elif config.name == "NodeResourcesFitArgs":
            # kube-scheduler's table of rules contains this name by mistake, so it rejects all args for it.
            yield invalid(f"{config_path}.args", config.args, "has to match plugin args")


def _check_one_queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[Finding]:
    """Yield differing queue sort settings: all profiles share one queue, so they must configure it identically."""
    first = profiles[0].plugins.queue_sort
    name = first.enabled[0].name if first.enabled else ""
    if len(first.enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(path, len(first.enabled), "only one queue sort plugin can be enabled")
    args = queue_sort_args(profiles[0], name) if name else None
    for i, profile in enumerate(profiles[1:], start=1):
        plugins = _as_printed(profile.plugins.queue_sort)
        if plugins != _as_printed(first):
            yield invalid(f"profiles[{i}].plugins.queueSort", plugins, "must be the same for all profiles")
        for config in profile.plugin_config:
            if config.name == name and go_json(config.args) != go_json(args):
                text = "queueSort must be the same for all profiles"
                yield invalid(f"profiles[{i}].pluginConfig.args", config.args, text)


def queue_sort_args(profile: KubeSchedulerProfile, name: str) -> Any:
    """Return the args that a profile has for its queue sort plugin; ``None`` if it has none."""
    return next((config.args for config in profile.plugin_config if config.name == name), None)


def _as_printed(plugins: PluginSet) -> dict[str, Any]:
    enabled = [{"Name": plugin.name, "Weight": plugin.weight} for plugin in plugins.enabled]
    disabled = [{"Name": plugin.name, "Weight": 0} for plugin in plugins.disabled]
    return {"Enabled": enabled or None, "Disabled": disabled or None}


def _check_extenders(extenders: tuple[ExtenderConfig, ...]) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, extender in enumerate(extenders):
        path = f"extenders[{i}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(child(path, "weight"), extender.weight, "must have a positive weight applied to it")
        for j, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{j}].name"
            for problem in extended_resource_problems(resource.name):
                yield invalid(name_path, resource.name, problem)
            if resource.name in seen:
                yield invalid(name_path, resource.name, "duplicate extender managed resource name")
            seen.add(resource.name)
        tls = extender.tls_config
        if tls is not None and tls.insecure and (tls.ca_file or tls.ca_data):
            text = "specifying a root certificates file with the insecure flag is not allowed"
            yield Finding(text, child(path, "tlsConfig"))
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        text = f"found {binders} extenders implementing bind"
        yield invalid("extenders", text, "only one extender can implement bind")


# Validation rules for a NodeAffinity in plugin args (component-helpers ``nodeaffinity``, apimachinery ``labels``).


def validate_node_affinity(affinity: NodeAffinity, path: str) -> Iterator[Finding]:
    """Yield the problems of all terms, except preferred terms with weight 0, which are not validated."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms_path = f"{child(path, 'requiredDuringSchedulingIgnoredDuringExecution')}.nodeSelectorTerms"
        for i, term in enumerate(required.node_selector_terms):
            yield from _check_term(term, f"{terms_path}[{i}]")
    for i, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if preferred.weight:
            preferred_path = f"{child(path, 'preferredDuringSchedulingIgnoredDuringExecution')}[{i}]"
            yield from _check_term(preferred.preference, preferred_path)


def _check_term(term: NodeSelectorTerm, path: str) -> Iterator[Finding]:
    for i, requirement in enumerate(term.match_expressions):
        yield from _check_expression(requirement, f"{path}.matchExpressions[{i}]")
    for i, requirement in enumerate(term.match_fields):
        field_path = f"{path}.matchFields[{i}]"
        if requirement.operator not in (IN, NOT_IN):
            yield unsupported(f"{field_path}.operator", requirement.operator, (IN, NOT_IN))
        elif len(requirement.values) != 1:
            yield invalid(f"{field_path}.values", requirement.values or None, "must have one element")


def _check_expression(requirement: NodeSelectorRequirement, path: str) -> Iterator[Finding]:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    operators = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
    if operator not in operators:
        yield unsupported(f"{path}.operator", operator, operators)
        return
    key_problems = qualified_name_problems(key)
    if key_problems:
        yield invalid(f"{path}.key", key, "; ".join(key_problems))
    values_path = f"{path}.values"
    if operator in (IN, NOT_IN) and not values:
        yield invalid(values_path, None, "for 'in', 'notin' operators, values set can't be empty")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        yield invalid(values_path, values, "values set must be empty for exists and does not exist")
    if operator in (GT, LT):
        if len(values) != 1:
            yield invalid(values_path, values or None, "for 'Gt', 'Lt' operators, exactly one value is required")
        for i, value in enumerate(values):
            if parse_int64(value) is None:
                yield invalid(f"{values_path}[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
    for i, value in enumerate(values):
        value_problems = label_value_problems(value)
        if value_problems:
            yield invalid(f"{path}.values[{i}][{key}]", value, "; ".join(value_problems))


# Validation rules for the args of in-tree plugins (``pkg/scheduler/apis/config/validation``).

_STRATEGIES: Final = (api.LEAST_ALLOCATED, api.MOST_ALLOCATED, api.REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_args(args: msgspec.Struct, path: str, release: Release) -> Iterator[Finding]:
    """Yield the problems for which kube-scheduler rejects the args of an in-tree plugin.

    Args:
        args: An instance of a type in ``kschedctl.scheduler.framework.config.types``; other types are not
            validated.
    """
    rule = _RULES.get(type(args))
    if rule is not None:
        yield from rule(args, path, release)


def _check_default_preemption(args: api.DefaultPreemptionArgs, path: str, _: Release) -> Iterator[Finding]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    yield from _check_within(percentage, 0, 100, percentage_path)
    if absolute < 0:
        yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        yield invalid(percentage_path, percentage, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield invalid(absolute_path, absolute, "cannot be zero at the same time as minCandidateNodesPercentage")


def _check_dynamic_resources(args: api.DynamicResourcesArgs, path: str, release: Release) -> Iterator[Finding]:
    filtering, binding = args.filter_timeout, args.binding_timeout
    if filtering is not None and filtering < Duration():
        yield invalid(child(path, "filterTimeout"), str(filtering), "must be zero or positive")
    if binding is None:
        return
    if not release.dynamic_resources_binding_timeout:
        gates = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
        yield forbidden(child(path, "bindingTimeout"), gates)
    elif binding < Duration.seconds(1):
        yield invalid(child(path, "bindingTimeout"), str(binding), "must be at least 1 second")


def _check_node_affinity(args: api.NodeAffinityArgs, path: str, _: Release) -> Iterator[Finding]:
    if args.added_affinity is not None:
        yield from validate_node_affinity(args.added_affinity, child(path, "addedAffinity"))


def _check_balanced_allocation(
    args: api.NodeResourcesBalancedAllocationArgs, path: str, _: Release
) -> Iterator[Finding]:
    seen = set()
    for i, resource in enumerate(args.resources):
        resource_path = f"{child(path, 'resources')}[{i}]"
        if resource.name in seen:
            yield duplicate(child(resource_path, "name"), resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield invalid(child(resource_path, "weight"), resource.weight, "must be 1")


def _check_fit(args: api.NodeResourcesFitArgs, path: str, release: Release) -> Iterator[Finding]:
    for i, name in enumerate(args.ignored_resources):
        yield from _check_label_name(name, f"{child(path, 'ignoredResources')}[{i}]")
    for i, group in enumerate(args.ignored_resource_groups):
        group_path = f"{child(path, 'ignoredResourceGroups')}[{i}]"
        if "/" in group:
            yield invalid(group_path, group, "resource group name can't contain '/'")
        yield from _check_label_name(group, group_path)
    strategy, strategy_path = args.scoring_strategy, child(path, "scoringStrategy")
    if strategy.type not in _STRATEGIES:
        yield unsupported(child(strategy_path, "type"), strategy.type, _STRATEGIES)
    for i, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            text = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield invalid(f"{child(strategy_path, 'resources')}[{i}].weight", resource.weight, text)
    ratio, ratio_path = strategy.requested_to_capacity_ratio, child(strategy_path, "requestedToCapacityRatio")
    of_type = strategy.type == api.REQUESTED_TO_CAPACITY_RATIO
    if ratio is None:
        # Releases without this rule crash instead.
        if of_type:
            yield required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
    elif not release.capacity_ratio_follows_type:
        yield from _check_shape(ratio.shape, child(strategy_path, "shape"))
    elif of_type:
        yield from _check_shape(ratio.shape, child(ratio_path, "shape"))
    else:
        yield forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")


def _check_shape(shape: tuple[api.UtilizationShapePoint, ...], path: str) -> Iterator[Finding]:
    if not shape:
        yield required(path, "at least one point must be specified")
    for i in range(1, len(shape)):
        if shape[i - 1].utilization >= shape[i].utilization:
            utilization = shape[i].utilization
            yield invalid(f"{path}[{i}].utilization", utilization, "values must be sorted in increasing order")
            break
    for i, point in enumerate(shape):
        yield from _check_within(point.utilization, 0, 100, f"{path}[{i}].utilization")
        yield from _check_within(point.score, 0, api.MAX_CUSTOM_SCORE, f"{path}[{i}].score")


def _check_pod_topology_spread(args: api.PodTopologySpreadArgs, path: str, _: Release) -> Iterator[Finding]:
    type_path, constraints = child(path, "defaultingType"), args.default_constraints
    if args.defaulting_type not in (api.SYSTEM_DEFAULTING, api.LIST_DEFAULTING):
        yield unsupported(type_path, args.defaulting_type, (api.SYSTEM_DEFAULTING, api.LIST_DEFAULTING))
    elif args.defaulting_type == api.SYSTEM_DEFAULTING and constraints:
        yield invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty")
    seen = set()
    for i, constraint in enumerate(constraints):
        constraint_path = f"{child(path, 'defaultConstraints')}[{i}]"
        if constraint.max_skew <= 0:
            yield invalid(child(constraint_path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
        if constraint.topology_key:
            yield from _check_label_name(constraint.topology_key, child(constraint_path, "topologyKey"))
        else:
            yield required(child(constraint_path, "topologyKey"), "can not be empty")
        if not constraint.when_unsatisfiable:
            yield required(child(constraint_path, "whenUnsatisfiable"), "can not be empty")
        elif constraint.when_unsatisfiable not in _ACTIONS:
            yield unsupported(child(constraint_path, "whenUnsatisfiable"), constraint.when_unsatisfiable, _ACTIONS)
        if constraint.label_selector is not None:
            text = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(child(constraint_path, "labelSelector"), text)
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            yield duplicate(constraint_path, f"{{{constraint.topology_key}, {constraint.when_unsatisfiable}}}")
        seen.add(identity)


def _check_volume_binding(args: api.VolumeBindingArgs, path: str, release: Release) -> Iterator[Finding]:
    if args.bind_timeout_seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(child(path, "bindTimeoutSeconds"), args.bind_timeout_seconds, text)
    if release.enabled("StorageCapacityScoring"):
        yield from _check_shape(args.shape or (), child(path, "shape"))
    elif args.shape is not None:
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(child(path, "shape"), points, text)


def _check_within(value: int, low: int, high: int, path: str) -> Iterator[Finding]:
    if not low <= value <= high:
        yield invalid(path, value, f"not in valid range [{low}, {high}]")


def _check_label_name(name: str, path: str) -> Iterator[Finding]:
    for problem in qualified_name_problems(name):
        yield invalid(path, name, problem)


_RULES: Final[dict[type[msgspec.Struct], Callable[[Any, str, Release], Iterator[Finding]]]] = {
    api.DefaultPreemptionArgs: _check_default_preemption,
    api.DynamicResourcesArgs: _check_dynamic_resources,
    api.InterPodAffinityArgs: lambda args, path, _: _check_within(
        args.hard_pod_affinity_weight, 0, 100, child(path, "hardPodAffinityWeight")
    ),
    api.NodeAffinityArgs: _check_node_affinity,
    api.NodeResourcesBalancedAllocationArgs: _check_balanced_allocation,
    api.NodeResourcesFitArgs: _check_fit,
    api.PodTopologySpreadArgs: _check_pod_topology_spread,
    api.VolumeBindingArgs: _check_volume_binding,
}
