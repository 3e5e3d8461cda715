"""Validation rules for a KubeSchedulerConfiguration as a whole (``ValidateKubeSchedulerConfiguration``).

The rules for plugin args are in ``args_validation``; the rules that depend on the existing plugins are in ``profile``.
"""

from __future__ import annotations

from typing import Any, Final

from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import go_json
from kschedctl.objects.names import extended_resource_problems
from kschedctl.scheduler.framework.config.problems import Problems, child
from kschedctl.scheduler.framework.config.types import (
    API_VERSION,
    ExtenderConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginSet,
)
from kschedctl.scheduler.framework.extension_point import ExtensionPoint

_REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_REMOVED_TEXT: Final = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


def validate(config: KubeSchedulerConfiguration, problems: Problems) -> None:
    """Record the problems for which kube-scheduler rejects the configuration, in kube-scheduler's order."""
    if config.client_connection.burst < 0:
        problems.invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")
    _leader_election(config.leader_election, problems)
    if config.parallelism <= 0:
        problems.invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    _profiles(config.profiles, problems)
    _percentage(config.percentage_of_nodes_to_score, "percentageOfNodesToScore", problems)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        problems.invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.invalid("podMaxBackoffSeconds", longest, text)
    _extenders(config.extenders, problems)


def _leader_election(election: LeaderElection, problems: Problems) -> None:
    if not election.leader_elect:
        return
    spans = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, span in spans.items():
        if span <= Duration():
            problems.invalid(f"leaderElection.{name}", str(span), "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        # kube-scheduler names the field leaseDuration but prints the value of renewDeadline.
        text = "must be greater than `RenewDeadline`"
        problems.invalid("leaderElection.leaseDuration", str(election.renew_deadline), text)
    if election.resource_lock != "leases":
        text = 'resourceLock value must be "leases"'
        problems.invalid("leaderElection.resourceLock", election.resource_lock, text)


def _percentage(percentage: int | None, path: str, problems: Problems) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        problems.invalid(path, percentage, "not in valid range [0-100]")


def _profiles(profiles: tuple[KubeSchedulerProfile, ...], problems: Problems) -> None:
    seen: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        path, name = f"profiles[{i}]", profile.scheduler_name or ""
        if not name:
            problems.required(f"{path}.schedulerName")
        _percentage(profile.percentage_of_nodes_to_score, f"{path}.percentageOfNodesToScore", problems)
        _removed_plugins(profile, path, problems)
        if name in seen:
            problems.duplicate(f"{path}.schedulerName", name)
        seen[name] = i
    _one_queue_sort(profiles, problems)


def _removed_plugins(profile: KubeSchedulerProfile, path: str, problems: Problems) -> None:
    # kube-scheduler leaves the placements of pod groups out.
    for point in ExtensionPoint:
        if point in (ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE):
            continue
        for i, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in _REMOVED:
                problems.invalid(f"{path}.plugins.{point}.enabled[{i}]", plugin.name, _REMOVED_TEXT)
    seen = set()
    for i, config in enumerate(profile.plugin_config):
        config_path = f"{path}.pluginConfig[{i}]"
        if config.name in seen:
            problems.duplicate(config_path, config.name)
        seen.add(config.name)
        if config.name in _REMOVED:
            problems.invalid(config_path, config.name, _REMOVED_TEXT)
        elif config.name == "NodeResourcesFitArgs":
            # kube-scheduler's table of rules contains this name by mistake, so it rejects all args for it.
            problems.invalid(f"{config_path}.args", config.args, "has to match plugin args")


def _one_queue_sort(profiles: tuple[KubeSchedulerProfile, ...], problems: Problems) -> None:
    """Record differing queue sort settings: all profiles share one queue, so they must configure it identically."""
    first = profiles[0].plugins.queue_sort
    name = first.enabled[0].name if first.enabled else ""
    if len(first.enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        problems.invalid(path, len(first.enabled), "only one queue sort plugin can be enabled")
    args = queue_sort_args(profiles[0], name) if name else None
    for i, profile in enumerate(profiles[1:], start=1):
        plugins = _as_printed(profile.plugins.queue_sort)
        if plugins != _as_printed(first):
            problems.invalid(f"profiles[{i}].plugins.queueSort", plugins, "must be the same for all profiles")
        for config in profile.plugin_config:
            if config.name == name and go_json(config.args) != go_json(args):
                text = "queueSort must be the same for all profiles"
                problems.invalid(f"profiles[{i}].pluginConfig.args", config.args, text)


def queue_sort_args(profile: KubeSchedulerProfile, name: str) -> Any:
    """Return the args that a profile has for its queue sort plugin; ``None`` if it has none."""
    return next((config.args for config in profile.plugin_config if config.name == name), None)


def _as_printed(plugins: PluginSet) -> dict[str, Any]:
    enabled = [{"Name": plugin.name, "Weight": plugin.weight} for plugin in plugins.enabled]
    disabled = [{"Name": plugin.name, "Weight": 0} for plugin in plugins.disabled]
    return {"Enabled": enabled or None, "Disabled": disabled or None}


def _extenders(extenders: tuple[ExtenderConfig, ...], problems: Problems) -> None:
    seen: set[str] = set()
    for i, extender in enumerate(extenders):
        path = f"extenders[{i}]"
        if extender.prioritize_verb and extender.weight <= 0:
            problems.invalid(child(path, "weight"), extender.weight, "must have a positive weight applied to it")
        for j, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{j}].name"
            for problem in extended_resource_problems(resource.name):
                problems.invalid(name_path, resource.name, problem)
            if resource.name in seen:
                problems.invalid(name_path, resource.name, "duplicate extender managed resource name")
            seen.add(resource.name)
        tls = extender.tls_config
        if tls is not None and tls.insecure and (tls.ca_file or tls.ca_data):
            text = "specifying a root certificates file with the insecure flag is not allowed"
            problems.add(child(path, "tlsConfig"), text)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        text = f"found {binders} extenders implementing bind"
        problems.invalid("extenders", text, "only one extender can implement bind")
