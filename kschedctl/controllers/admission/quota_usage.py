"""A pod's usage of a ResourceQuota, and the scopes of quotas (pkg/quota/v1/evaluator/core)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kschedctl.objects.core import ResourceList
from kschedctl.objects.pod import Pod, pod_affinity_terms
from kschedctl.objects.policies import ResourceQuota, ScopedResourceSelectorRequirement
from kschedctl.objects.quantity import NANO, Amount, Amounts, QuantityFormat, forms, parse_quantity
from kschedctl.objects.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PODS,
    RequestRules,
    container_limits,
    is_extended_resource,
    is_pod_level_resource,
    parse_resources,
    pod_requests,
)
from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement

_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_COUNT: Final = "count/pods"
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_COUNTED: Final = frozenset(
    {_COUNT, PODS, *(f"{prefix}{name}" for prefix in ("", _REQUESTS, _LIMITS) for name in _COMPUTE)}
)
#: If a quota counts one of these resources, every container must specify it.
_TO_BE_GIVEN: Final = frozenset(f"{prefix}{name}" for prefix in ("", _REQUESTS, _LIMITS) for name in (CPU, MEMORY))
_ONE: Final = Amount(NANO)
_PRIORITY_CLASS: Final = "PriorityClass"


def pod_usage(pod: Pod, rules: RequestRules) -> Amounts:
    """Return the usage of a pod that has not finished, by the names under which quotas count.

    Raises
    ------
    QuantityError
        If a resource of the pod is not a quantity.
    """
    every = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
    own = [pod.spec.resources] if rules.pod_level else []
    request_forms = forms([*(r.requests for r in (*own, *every)), pod.spec.overhead])
    requests = _amounts(pod_requests(pod, rules), request_forms)
    limits = _amounts(_pod_limits(pod, rules), forms(r.limits for r in (*own, *every)))
    return {_COUNT: _ONE, **_by_quota_name(requests, limits)}


def counted_resources(names: Iterable[str]) -> list[str]:
    """Return the names of a quota's resources that pods can use."""
    return [name for name in names if name in _COUNTED or _is_counted_by_prefix(name)]


def missing_resources_message(pod: Pod, names: Iterable[str], rules: RequestRules) -> str:
    """Return the API server's message about resources that containers must specify and do not; empty if none.

    Parameters
    ----------
    pod : Pod
        The pod, with API defaults applied.
    names : iterable of str
        The resources that the quota counts.
    rules : RequestRules
        The rules that say whether pod-level resources exempt the containers from specifying theirs.
    """
    whole = pod.spec.resources
    if rules.pod_level and any(map(is_pod_level_resource, (*whole.requests, *whole.limits))):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        given = _by_quota_name(container.resources.requests, container.resources.limits)
        for name in _TO_BE_GIVEN.intersection(names).difference(given):
            missing.setdefault(name, set()).add(container.name)
    if not missing:
        return ""
    listed = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {'; '.join(listed)}"


def matches_scopes(quota: ResourceQuota, pod: Pod, *, pod_level: bool) -> bool:
    """Report whether a pod matches all scopes of a quota."""
    spec = quota.spec
    scopes = [ScopedResourceSelectorRequirement(scope_name=name, operator=EXISTS) for name in spec.scopes]
    return all(_in_scope(scope, pod, pod_level) for scope in (*scopes, *spec.scope_selector.match_expressions))


def _pod_limits(pod: Pod, rules: RequestRules) -> dict[str, int]:
    """Return the limits of the containers and of the pod in nano-units, plus overhead for limited resources."""
    limits = container_limits(pod)
    if rules.pod_level:
        for name, nanos in parse_resources(pod.spec.resources.limits, "spec.resources.limits").items():
            if is_pod_level_resource(name):
                limits[name] = nanos
    for name, nanos in parse_resources(pod.spec.overhead, "spec.overhead").items():
        if limits.get(name):
            limits[name] += nanos
    return limits


def _amounts(nanos: Mapping[str, int], written: Mapping[str, QuantityFormat]) -> Amounts:
    return {name: Amount(amount, written.get(name, QuantityFormat.DECIMAL)) for name, amount in nanos.items()}


def _by_quota_name(requests: Mapping[str, object], limits: Mapping[str, object]) -> dict[str, Any]:
    out: dict[str, Any] = {PODS: _ONE}
    for name, request in requests.items():
        if name in _COMPUTE or name.startswith(HUGEPAGES_PREFIX):
            out[name] = out[f"{_REQUESTS}{name}"] = request
        elif is_extended_resource(name) or name.startswith(_DEVICE_CLASS):
            out[f"{_REQUESTS}{name}"] = request
    for name in _COMPUTE:
        if name in limits:
            out[f"{_LIMITS}{name}"] = limits[name]
    return out


def _is_counted_by_prefix(name: str) -> bool:
    if name.startswith((HUGEPAGES_PREFIX, f"{_REQUESTS}{HUGEPAGES_PREFIX}", f"{_REQUESTS}{_DEVICE_CLASS}")):
        return True
    is_native = "/" not in name or "kubernetes.io/" in name
    return name.startswith(_REQUESTS) and not is_native


def _in_scope(scope: ScopedResourceSelectorRequirement, pod: Pod, pod_level: bool) -> bool:
    match scope.scope_name:
        case "Terminating":
            return _ends_by_itself(pod)
        case "NotTerminating":
            return not _ends_by_itself(pod)
        case "BestEffort":
            return _is_best_effort(pod, pod_level)
        case "NotBestEffort":
            return not _is_best_effort(pod, pod_level)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.spec))
        case "PriorityClass" if scope.operator in (EXISTS, DOES_NOT_EXIST, IN, NOT_IN):
            requirement = Requirement(_PRIORITY_CLASS, scope.operator, scope.values)
            return requirement.holds(pod.spec.priority_class_name or None)
        case _:
            return False


def _ends_by_itself(pod: Pod) -> bool:
    seconds = pod.spec.active_deadline_seconds
    return seconds is not None and seconds >= 0


def _is_best_effort(pod: Pod, pod_level: bool) -> bool:
    """Report whether no container, or pod-level resource, requests or limits CPU or memory."""
    whole = pod.spec.resources
    if pod_level and (whole.requests or whole.limits):
        lists: list[ResourceList] = [whole.requests, whole.limits]
    else:
        every = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
        lists = [each for r in every for each in (r.requests, r.limits)]
    return not any(parse_quantity(each.get(name, 0)) > 0 for each in lists for name in (CPU, MEMORY))
