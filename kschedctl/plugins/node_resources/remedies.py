"""Remedies of NodeResourcesFit: the pod requests less. What would make room on the node is for others to find."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kschedctl.api.amounts import exact_quantity, format_amount
from kschedctl.api.pod import Container, Pod, ResourceRequirements
from kschedctl.api.quantity import parse_quantity
from kschedctl.api.resources import (
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PODS,
    RequestRules,
    is_extended_resource,
    is_pod_level_resource,
    pod_requests,
    scheduler_units,
)
from kschedctl.framework.remedy import Operation, Remedy, RemedyContext, Size, added
from kschedctl.plugins.node_resources.allocation import spec_only


def request_remedies(context: RemedyContext, resource: str, free: int) -> Iterator[Remedy]:
    """Lower what the pod requests of a resource to what is free.

    Parameters
    ----------
    resource : str
        The resource.
    free : int
        How much of it there is: milli-CPU, bytes or a count.
    """
    if resource == PODS:
        return
    rules = spec_only(RequestRules.of(context.release), pod_level=True)
    before, target = _units(context.pod, rules, resource), max(free, 0)
    if before <= target:
        return
    patch = _lowered(context.pod, rules, resource, target)
    if not patch:
        return
    if target:
        summary = f"request {format_amount(resource, _rounded(resource, target))} {resource} or less instead of"
        summary = f"{summary} {format_amount(resource, before)}"
    else:
        summary = f"request no {resource}"
    share = 1 - target / before
    # Half of what was asked for may do; with less it is another pod.
    size = Size.TUNED if share <= 0.5 else Size.REPLACED if target else Size.POD_REMOVED
    yield context.pod_patch(summary, *patch, size=size, family=("request", resource), within=share, once=True)


def _rounded(resource: str, amount: int) -> int:
    """An amount that is no more in the digits that people are shown either; of bytes they are shown two."""
    if resource not in (MEMORY, EPHEMERAL_STORAGE) and not resource.startswith(HUGEPAGES_PREFIX):
        return amount
    unit = 1 << max((amount.bit_length() - 1) // 10 * 10, 0)
    return amount - amount % max(unit // 100, 1)


def _units(pod: Pod, rules: RequestRules, resource: str) -> int:
    return scheduler_units(pod_requests(pod, rules)).get(resource, 0)


def _lowered(pod: Pod, rules: RequestRules, resource: str, target: int) -> list[Operation]:
    """Patches with which the pod as a whole requests no more than the target; none where overhead alone is more."""
    whole = pod.spec.resources
    if rules.pod_level and resource in whole.requests and is_pod_level_resource(resource):
        excess = _units(pod, rules, resource) - target
        lowered = _requesting(whole, resource, _own(whole, resource) - excess)
        return [added(lowered, "spec", "resources")] if _own(whole, resource) >= excess else []
    lists: dict[str, list[Container]] = {
        "containers": list(pod.spec.containers),
        "initContainers": list(pod.spec.init_containers),
    }
    changed: dict[tuple[str, int], ResourceRequirements] = {}
    while (excess := _units(pod, rules, resource) - target) > 0:
        found = _largest(lists, resource)
        if found is None:
            return []
        field, i = found
        container = lists[field][i]
        own = _own(container.resources, resource)
        changed[field, i] = resources = _requesting(container.resources, resource, max(own - excess, 0))
        lists[field][i] = replace(container, resources=resources)
        containers, init_containers = map(tuple, lists.values())
        pod = replace(pod, spec=replace(pod.spec, containers=containers, init_containers=init_containers))
    return [added(resources, "spec", field, i, "resources") for (field, i), resources in sorted(changed.items())]


def _largest(lists: dict[str, list[Container]], resource: str) -> tuple[str, int] | None:
    """The container that asks for the most; of an init container only where it asks for more than any other."""
    amounts = [
        (_own(container.resources, resource), field == "containers", -i, field)
        for field, containers in lists.items()
        for i, container in enumerate(containers)
    ]
    most, _, i, field = max(amounts, default=(0, False, 0, ""))
    return (field, -i) if most > 0 else None


def _own(resources: ResourceRequirements, resource: str) -> int:
    """What is requested in whole units, rounded down."""
    text = resources.requests.get(resource)
    if text is None:
        return 0
    nanos = parse_quantity(text)
    return -scheduler_units({resource: -nanos})[resource] if nanos else 0


def _requesting(resources: ResourceRequirements, resource: str, amount: int) -> ResourceRequirements:
    quantity = exact_quantity(resource, max(amount, 0))
    limits = resources.limits
    if is_extended_resource(resource) or resource.startswith(HUGEPAGES_PREFIX):
        # An API server wants the two to be equal.
        limits = {**limits, resource: quantity}
    return replace(resources, requests={**resources.requests, resource: quantity}, limits=limits)
