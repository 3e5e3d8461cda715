"""Validation of requests and limits, of containers and at pod level."""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Final

import msgspec

from kschedctl.objects.names import (
    extended_resource_problems,
    is_native_resource,
    label_problems,
    qualified_name_problems,
)
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
from kschedctl.objects.releases.rules import ValidationRules
from kschedctl.objects.resources import (
    HUGEPAGES_PREFIX,
    RequestRules,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from kschedctl.objects.validation.part import NOT_NEGATIVE, Part
from kschedctl.objects.validation.values import Tree

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
#: API servers round resource amounts up to milli-units.
_MILLI: Final = NANO // 1000
_MAX_INT64: Final = 2**63 - 1
_BY_SPEC: Final = RequestRules(pod_level=False, status=False, pod_level_status=False)


def container_resources(resources: Part, claims: Collection[str], rules: ValidationRules) -> None:
    """Check the requests, limits and claims of a container, or the overhead of a pod as limits.

    Args:
        claims: The names of the pod's resource claims.
    """
    _check_resources(resources, lambda name: name.typed.check(container_resource_problems), claims, rules)


def pod_resources(spec: Part, claims: Collection[str], rules: ValidationRules) -> None:
    """Check pod-level requests and limits."""
    resources = spec["resources"]
    if spec["os"].get("name") == "windows":
        resources.forbidden("may not be set for a windows pod")
        return
    if "claims" in resources:
        resources["claims"].forbidden("claims may not be set for Resources at pod-level")
    _check_resources(resources, _check_pod_resource, claims, rules)
    _check_aggregates(spec, resources)


def _check_resources(
    resources: Part, name_rule: Callable[[Part], None], claims: Collection[str], rules: ValidationRules
) -> None:
    limits = _amounts_of(resources.value, "limits")
    amounts = {"limits": limits, "requests": _amounts_of(resources.value, "requests")}
    holders = {kind: resources[kind] for kind in amounts}
    for holder, name, amount in ((holders[kind], *each) for kind in amounts for each in amounts[kind].items()):
        at = holder.child(f"[{name}]", name)
        name_rule(at)
        at = at.with_value(str(amount))
        if amount.nanos < 0:
            at.invalid(NOT_NEGATIVE)
        counted = name in _COUNTED or ("/" in name and not extended_resource_problems(name))
        if counted and (amount.nanos % NANO if rules.large_amounts_are_exact else milli_value(amount.nanos) % 1000):
            at.invalid("must be an integer")
        limit, whole = limits.get(name), not _overcommit_allowed(name)
        if limit is None:
            if whole:
                resources["limits"].required("Limit must be set for non overcommitable resources")
        elif amount.nanos != limit.nanos if whole else amount.nanos > limit.nanos:
            problem = f"must be {'equal' if whole else 'less than or equal'} to {name} limit of {limit}"
            holder.invalid(problem, str(amount))
        size = name.removeprefix(HUGEPAGES_PREFIX)
        if name.startswith(HUGEPAGES_PREFIX) and not _is_multiple(amount, size, rules):
            at.invalid(f"{amount} is not positive integer multiple of {name}")
    names = {*limits, *amounts["requests"]}
    if not names & _COMPUTE and any(name.startswith(HUGEPAGES_PREFIX) for name in names):
        resources.forbidden("HugePages require cpu or memory")
    if "claims" in resources:
        _check_claims(resources["claims"], claims)


@lru_cache(maxsize=4096)
def _overcommit_allowed(name: str) -> bool:
    return is_native_resource(name) and not name.startswith(HUGEPAGES_PREFIX)


@lru_cache(maxsize=4096)
def container_resource_problems(name: str) -> tuple[str, ...]:
    """Return the problems of the name of a resource that a container requests."""
    problems = _resource_problems(name)
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(HUGEPAGES_PREFIX):
            return (*problems, "must be a standard resource for containers")
    elif not is_native_resource(name) and extended_resource_problems(name):
        return (*problems, "doesn't follow extended resource name standard")
    return problems


def _resource_problems(name: str) -> tuple[str, ...]:
    standard = name in _STANDARD or name.startswith((HUGEPAGES_PREFIX, _QUOTA_HUGEPAGES))
    unknown = () if standard or "/" in name else ("must be a standard resource type or fully qualified",)
    return qualified_name_problems(name) or unknown


def _check_pod_resource(name: Part) -> None:
    name.typed.check(_resource_problems)
    if not _resource_problems(name.value) and not is_pod_level_resource(name.value):
        name.unsupported(("cpu", "hugepages-", "memory"))


def _is_multiple(amount: Amount, size: str, rules: ValidationRules) -> bool:
    try:
        nanos = parse_quantity(size)
    except QuantityError:
        return False
    if rules.large_amounts_are_exact and (nanos > _MAX_INT64 * _MILLI or abs(amount.nanos) > _MAX_INT64 * NANO):
        return False
    return nanos > 0 and not nanos % NANO and not value(amount.nanos) % value(nanos)


def _check_claims(claims: Part, known: Collection[str]) -> None:
    names: set[str] = set()
    for claim in claims:
        name, request = claim.get("name"), claim["request"].nonempty
        if not name:
            claim.required()
            continue
        claim = claim.with_value(name)
        if name in names:
            claim.duplicate()
        else:
            request.check(label_problems)
            key = f"{name}/{request.value}" if request else name
            if key in names:
                claim.duplicate(key)
            for _ in () if request else [other for other in names if other.partition("/")[0] == name]:
                claim.duplicate()
            names.add(key)
        if name not in known:
            which = f": {', '.join(sorted(known))}" if known else " which is empty"
            claim.not_found(f"must be one of the names in pod.spec.resourceClaims{which}")


def _check_aggregates(spec: Part, resources: Part) -> None:
    """Check that the aggregated containers do not exceed pod-level requests and limits."""
    every = [c.value for name in ("containers", "initContainers") for c in spec[name]]
    given = {k: spec.value[k] for k in ("containers", "initContainers") if k in spec}
    pod = Pod(spec=msgspec.convert(given, PodSpec))
    totals = {"requests": container_requests(pod, _BY_SPEC), "limits": container_limits(pod)}
    limits = _amounts_of(resources.value, "limits")
    for kind, total in totals.items():
        own = _amounts_of(resources.value, kind)
        written = forms(each.get("resources", {}).get(kind, {}) for each in every)
        for name, nanos in sorted(total.items()):
            # For other resources, the aggregated limits of containers can exceed the pod's.
            compared = name in own and (kind == "requests" or name.startswith(HUGEPAGES_PREFIX))
            if compared and nanos > own[name].nanos:
                shown = Amount(nanos, written.get(name, QuantityFormat.DECIMAL))
                problem = f"must be greater than or equal to aggregate container {kind} of {shown}"
                resources[kind].child(f"[{name}]", str(own[name])).invalid(problem)
    for i, container in enumerate(spec["containers"]):
        for name, limit in _amounts_of(container.get("resources", {}), "limits").items():
            if name in limits and limit.nanos > limits[name].nanos:
                at = resources.child(f"containers[{i}][{name}].limits", str(limit))
                at.invalid(f"must be less than or equal to pod limits of {limits[name]}")


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
