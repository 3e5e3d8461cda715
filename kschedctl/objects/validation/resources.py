"""Validation of requests and limits, of containers and at pod level."""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Final

import msgspec

from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import extended_resource_problems, is_native_resource, qualified_name_problems
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.quantity import (
    NANO,
    Amount,
    Amounts,
    QuantityError,
    QuantityFormat,
    forms,
    milli_value,
    parse_quantity,
    value,
)
from kschedctl.objects.resources import (
    HUGEPAGES_PREFIX,
    RequestRules,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from kschedctl.objects.validation.values import Found, Tree, invalid_findings, label_name

_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD: Final = frozenset(
    {
        *_CONTAINER,
        *_COUNTED,
        *(f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _CONTAINER),
        "storage",
        "requests.storage",
    }
)
#: The resources that determine the QoS class.
_COMPUTE: Final = frozenset({"cpu", "memory"})
_QUOTA_HUGEPAGES: Final = "requests.hugepages-"
_SUPPORTED_OF_PODS: Final = ("cpu", "hugepages-", "memory")
#: API servers round resource amounts up to milli-units.
_MILLI: Final = NANO // 1000
_BY_SPEC: Final = RequestRules(pod_level=False, status=False, pod_level_status=False)
NameRule = Callable[[str, str], Found]


def container_resources(resources: Tree, claims: Collection[str], path: str) -> Found:
    """Yield the problems of the requests, limits and claims of a container.

    Args:
        claims: The names of the pod's resource claims.
    """
    yield from _check_resources(resources, container_resource_name, claims, path)


def overhead(amounts: Tree, path: str) -> Found:
    """Yield the problems of the overhead of a pod, which is validated like the limits of a container."""
    yield from _check_resources({"limits": amounts}, container_resource_name, (), path)


def pod_resources(spec: Tree, claims: Collection[str], path: str) -> Found:
    """Yield the problems of pod-level requests and limits, if the pod has any."""
    resources = spec.get("resources")
    if resources is None:
        return
    if spec.get("os", {}).get("name") == "windows":
        yield field_errors.forbidden(path, "may not be set for a windows pod")
        return
    if "claims" in resources:
        yield field_errors.forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from _check_resources(resources, _pod_resource_name, claims, path)
    yield from _consistent(spec, resources, path)


def _check_resources(resources: Tree, name_rule: NameRule, claims: Collection[str], path: str) -> Found:
    requests, limits = _amounts_of(resources, "requests"), _amounts_of(resources, "limits")
    for name, amount in limits.items():
        at = f"{path}.limits[{name}]"
        yield from name_rule(name, at)
        yield from resource_amount(name, amount, at)
        yield from _huge_pages(name, amount, at)
    for name, amount in requests.items():
        at = f"{path}.requests[{name}]"
        yield from name_rule(name, at)
        yield from resource_amount(name, amount, at)
        limit = limits.get(name)
        whole = not _overcommit_allowed(name)
        if limit is None:
            if whole:
                yield field_errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif whole and amount.nanos != limit.nanos:
            yield field_errors.invalid(f"{path}.requests", str(amount), f"must be equal to {name} limit of {limit}")
        elif amount.nanos > limit.nanos:
            problem = f"must be less than or equal to {name} limit of {limit}"
            yield field_errors.invalid(f"{path}.requests", str(amount), problem)
        yield from _huge_pages(name, amount, at)
    names = {*limits, *requests}
    if not names & _COMPUTE and any(name.startswith(HUGEPAGES_PREFIX) for name in names):
        yield field_errors.forbidden(path, "HugePages require cpu or memory")
    if "claims" in resources:
        yield from _check_claims(resources["claims"], claims, f"{path}.claims")


@lru_cache(maxsize=4096)
def _overcommit_allowed(name: str) -> bool:
    return is_native_resource(name) and not name.startswith(HUGEPAGES_PREFIX)


def container_resource_name(name: str, path: str) -> Found:
    """Yield the problems of the name of a resource that a container requests."""
    yield from _container_name_problems(name, path)


@lru_cache(maxsize=4096)
def _container_name_problems(name: str, path: str) -> tuple[Finding, ...]:
    found = list(resource_name(name, path))
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(HUGEPAGES_PREFIX):
            found.append(field_errors.invalid(path, Typed(name), "must be a standard resource for containers"))
    elif not is_native_resource(name) and extended_resource_problems(name):
        found.append(field_errors.invalid(path, Typed(name), "doesn't follow extended resource name standard"))
    return tuple(found)


def resource_name(name: str, path: str) -> Found:
    """Yield the problems of a resource's name."""
    problems = qualified_name_problems(name)
    yield from invalid_findings(problems, Typed(name), path)
    standard = name in _STANDARD or name.startswith((HUGEPAGES_PREFIX, _QUOTA_HUGEPAGES))
    if not problems and "/" not in name and not standard:
        yield field_errors.invalid(path, Typed(name), "must be a standard resource type or fully qualified")


def _pod_resource_name(name: str, path: str) -> Found:
    found = list(resource_name(name, path))
    if not found and not is_pod_level_resource(name):
        found = [field_errors.unsupported(path, name, _SUPPORTED_OF_PODS)]
    yield from found


def resource_amount(name: str, amount: Amount, path: str) -> Found:
    """Yield the problems of an amount: it must not be negative, and must be an integer for countable resources."""
    if amount.nanos < 0:
        yield field_errors.invalid(path, str(amount), "must be greater than or equal to 0")
    counted = name in _COUNTED or ("/" in name and not extended_resource_problems(name))
    if counted and milli_value(amount.nanos) % 1000:
        yield field_errors.invalid(path, str(amount), "must be an integer")


def _huge_pages(name: str, amount: Amount, path: str) -> Found:
    if not name.startswith(HUGEPAGES_PREFIX):
        return
    try:
        size = parse_quantity(name.removeprefix(HUGEPAGES_PREFIX))
    except QuantityError:
        size = 0
    if size <= 0 or size % NANO or value(amount.nanos) % value(size):
        problem = f"{amount} is not positive integer multiple of {name}"
        yield field_errors.invalid(path, str(amount), problem)


def _check_claims(claims: Iterable[Tree], known: Collection[str], path: str) -> Found:
    names: set[str] = set()
    for i, claim in enumerate(claims):
        at = f"{path}[{i}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield field_errors.required(at)
            continue
        if name in names:
            yield field_errors.duplicate(at, name)
        else:
            if request:
                yield from label_name(request, f"{at}.request")
            key = f"{name}/{request}" if request else name
            if key in names:
                yield field_errors.duplicate(at, key)
            elif not request:
                for _ in (other for other in names if other.partition("/")[0] == name):
                    yield field_errors.duplicate(at, name)
            names.add(key)
        if name not in known:
            which = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{which}"
            yield field_errors.not_found(at, name, detail)


def _consistent(spec: Tree, resources: Tree, path: str) -> Found:
    """Yield the problems of pod-level requests and limits that the aggregated containers exceed."""
    requests, limits = _amounts_of(resources, "requests"), _amounts_of(resources, "limits")
    pod = Pod(spec=msgspec.convert({k: spec[k] for k in ("containers", "initContainers") if k in spec}, PodSpec))
    every = [c.get("resources", {}) for name in ("containers", "initContainers") for c in spec.get(name, ())]
    written = forms(each.get("requests", {}) for each in every)
    for name, nanos in sorted(container_requests(pod, _BY_SPEC).items()):
        own = requests.get(name)
        if own is not None and nanos > own.nanos:
            total = Amount(nanos, written.get(name, QuantityFormat.DECIMAL))
            problem = f"must be greater than or equal to aggregate container requests of {total}"
            yield field_errors.invalid(f"{path}.requests[{name}]", str(own), problem)
    written = forms(each.get("limits", {}) for each in every)
    for name, nanos in sorted(container_limits(pod).items()):
        own = limits.get(name)
        # For other resources, the aggregated limits of containers can exceed the pod's.
        if name.startswith(HUGEPAGES_PREFIX) and own is not None and nanos > own.nanos:
            total = Amount(nanos, written.get(name, QuantityFormat.DECIMAL))
            problem = f"must be greater than or equal to aggregate container limits of {total}"
            yield field_errors.invalid(f"{path}.limits[{name}]", str(own), problem)
    for i, container in enumerate(spec.get("containers", ())):
        for name, limit in _amounts_of(container.get("resources", {}), "limits").items():
            own = limits.get(name)
            if own is not None and limit.nanos > own.nanos:
                problem = f"must be less than or equal to pod limits of {own}"
                yield field_errors.invalid(f"{path}.containers[{i}][{name}].limits", str(limit), problem)


def _amounts_of(resources: Tree, name: str) -> Amounts:
    # Go iterates over maps in random order; here the names are sorted.
    return {key: amount_of(text) for key, text in sorted(resources.get(name, {}).items())}


def amount_of(text: str | float) -> Amount:
    """Return an amount of a resource as an API server stores it, rounded away from zero to milli-units."""
    amount = Amount.parse(text)
    rest = abs(amount.nanos) % _MILLI
    if not rest:
        return amount
    return Amount(amount.nanos + (_MILLI - rest) * (1 if amount.nanos > 0 else -1), amount.form)
