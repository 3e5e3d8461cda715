"""Validation rules for the args of in-tree plugins (``pkg/scheduler/apis/config/validation``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kschedctl.objects.duration import Duration
from kschedctl.objects.names import qualified_name_problems
from kschedctl.objects.pod import TopologySpreadConstraint
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.config import args as api
from kschedctl.scheduler.framework.config.affinity_validation import validate_node_affinity
from kschedctl.scheduler.framework.config.problems import Problems, child

_STRATEGIES: Final = (api.LEAST_ALLOCATED, api.MOST_ALLOCATED, api.REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_args(args: msgspec.Struct, path: str, release: Release, problems: Problems) -> None:
    """Record the problems for which kube-scheduler rejects the args of an in-tree plugin.

    Parameters
    ----------
    args : msgspec.Struct
        An instance of a type in ``kschedctl.scheduler.framework.config.args``; other types are not validated.
    path : str
        The field path of the args.
    release : Release
        The release whose rules apply.
    problems : Problems
        The collector that problems are added to.
    """
    rule = _RULES.get(type(args))
    if rule is not None:
        rule(args, path, release, problems)


def _default_preemption(args: api.DefaultPreemptionArgs, path: str, _: Release, problems: Problems) -> None:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    _within(percentage, 0, 100, percentage_path, problems)
    if absolute < 0:
        problems.invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        problems.invalid(percentage_path, percentage, "cannot be zero at the same time as minCandidateNodesAbsolute")
        problems.invalid(absolute_path, absolute, "cannot be zero at the same time as minCandidateNodesPercentage")


def _dynamic_resources(args: api.DynamicResourcesArgs, path: str, release: Release, problems: Problems) -> None:
    filtering, binding = args.filter_timeout, args.binding_timeout
    if filtering is not None and filtering < Duration():
        problems.invalid(child(path, "filterTimeout"), str(filtering), "must be zero or positive")
    if binding is None:
        return
    if not release.dynamic_resources_binding_timeout:
        gates = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
        problems.forbidden(child(path, "bindingTimeout"), gates)
    elif binding < Duration.seconds(1):
        problems.invalid(child(path, "bindingTimeout"), str(binding), "must be at least 1 second")


def _inter_pod_affinity(args: api.InterPodAffinityArgs, path: str, _: Release, problems: Problems) -> None:
    _within(args.hard_pod_affinity_weight, 0, 100, child(path, "hardPodAffinityWeight"), problems)


def _node_affinity(args: api.NodeAffinityArgs, path: str, _: Release, problems: Problems) -> None:
    if args.added_affinity is not None:
        validate_node_affinity(args.added_affinity, child(path, "addedAffinity"), problems)


def _balanced_allocation(
    args: api.NodeResourcesBalancedAllocationArgs, path: str, _: Release, problems: Problems
) -> None:
    seen = set()
    for i, resource in enumerate(args.resources):
        resource_path = f"{child(path, 'resources')}[{i}]"
        if resource.name in seen:
            problems.duplicate(child(resource_path, "name"), resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            problems.invalid(child(resource_path, "weight"), resource.weight, "must be 1")


def _fit(args: api.NodeResourcesFitArgs, path: str, release: Release, problems: Problems) -> None:
    for i, name in enumerate(args.ignored_resources):
        _label_name(name, f"{child(path, 'ignoredResources')}[{i}]", problems)
    for i, group in enumerate(args.ignored_resource_groups):
        group_path = f"{child(path, 'ignoredResourceGroups')}[{i}]"
        if "/" in group:
            problems.invalid(group_path, group, "resource group name can't contain '/'")
        _label_name(group, group_path, problems)
    strategy, strategy_path = args.scoring_strategy, child(path, "scoringStrategy")
    if strategy.type not in _STRATEGIES:
        problems.unsupported(child(strategy_path, "type"), strategy.type, _STRATEGIES)
    for i, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            text = f"resource weight of {resource.name} not in valid range (0, 100]"
            problems.invalid(f"{child(strategy_path, 'resources')}[{i}].weight", resource.weight, text)
    _capacity_ratio(strategy, strategy_path, release, problems)


def _capacity_ratio(strategy: api.ScoringStrategy, path: str, release: Release, problems: Problems) -> None:
    ratio, ratio_path = strategy.requested_to_capacity_ratio, child(path, "requestedToCapacityRatio")
    of_type = strategy.type == api.REQUESTED_TO_CAPACITY_RATIO
    if ratio is None:
        # Releases without this rule crash instead.
        if of_type:
            problems.required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
    elif not release.capacity_ratio_follows_type:
        _shape(ratio.shape, child(path, "shape"), problems)
    elif of_type:
        _shape(ratio.shape, child(ratio_path, "shape"), problems)
    else:
        problems.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")


def _shape(shape: tuple[api.UtilizationShapePoint, ...], path: str, problems: Problems) -> None:
    if not shape:
        problems.required(path, "at least one point must be specified")
    for i in range(1, len(shape)):
        if shape[i - 1].utilization >= shape[i].utilization:
            utilization = shape[i].utilization
            problems.invalid(f"{path}[{i}].utilization", utilization, "values must be sorted in increasing order")
            break
    for i, point in enumerate(shape):
        _within(point.utilization, 0, 100, f"{path}[{i}].utilization", problems)
        _within(point.score, 0, api.MAX_CUSTOM_SCORE, f"{path}[{i}].score", problems)


def _pod_topology_spread(args: api.PodTopologySpreadArgs, path: str, _: Release, problems: Problems) -> None:
    type_path, constraints = child(path, "defaultingType"), args.default_constraints
    if args.defaulting_type not in (api.SYSTEM_DEFAULTING, api.LIST_DEFAULTING):
        problems.unsupported(type_path, args.defaulting_type, (api.SYSTEM_DEFAULTING, api.LIST_DEFAULTING))
    elif args.defaulting_type == api.SYSTEM_DEFAULTING and constraints:
        problems.invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty")
    seen = set()
    for i, constraint in enumerate(constraints):
        constraint_path = f"{child(path, 'defaultConstraints')}[{i}]"
        _constraint(constraint, constraint_path, problems)
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            problems.duplicate(constraint_path, f"{{{constraint.topology_key}, {constraint.when_unsatisfiable}}}")
        seen.add(identity)


def _constraint(constraint: TopologySpreadConstraint, path: str, problems: Problems) -> None:
    if constraint.max_skew <= 0:
        problems.invalid(child(path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        _label_name(constraint.topology_key, child(path, "topologyKey"), problems)
    else:
        problems.required(child(path, "topologyKey"), "can not be empty")
    if not constraint.when_unsatisfiable:
        problems.required(child(path, "whenUnsatisfiable"), "can not be empty")
    elif constraint.when_unsatisfiable not in _ACTIONS:
        problems.unsupported(child(path, "whenUnsatisfiable"), constraint.when_unsatisfiable, _ACTIONS)
    if constraint.label_selector is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        problems.forbidden(child(path, "labelSelector"), text)


def _volume_binding(args: api.VolumeBindingArgs, path: str, release: Release, problems: Problems) -> None:
    if args.bind_timeout_seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        problems.invalid(child(path, "bindTimeoutSeconds"), args.bind_timeout_seconds, text)
    if release.enabled("StorageCapacityScoring"):
        _shape(args.shape or (), child(path, "shape"), problems)
    elif args.shape is not None:
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        problems.invalid(child(path, "shape"), points, text)


def _within(value: int, low: int, high: int, path: str, problems: Problems) -> None:
    if not low <= value <= high:
        problems.invalid(path, value, f"not in valid range [{low}, {high}]")


def _label_name(name: str, path: str, problems: Problems) -> None:
    for problem in qualified_name_problems(name):
        problems.invalid(path, name, problem)


_RULES: Final[dict[type[msgspec.Struct], Callable[[Any, str, Release, Problems], None]]] = {
    api.DefaultPreemptionArgs: _default_preemption,
    api.DynamicResourcesArgs: _dynamic_resources,
    api.InterPodAffinityArgs: _inter_pod_affinity,
    api.NodeAffinityArgs: _node_affinity,
    api.NodeResourcesBalancedAllocationArgs: _balanced_allocation,
    api.NodeResourcesFitArgs: _fit,
    api.PodTopologySpreadArgs: _pod_topology_spread,
    api.VolumeBindingArgs: _volume_binding,
}
