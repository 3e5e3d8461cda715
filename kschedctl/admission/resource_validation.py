"""What an API server checks of requests and limits once its plugins have filled them in (core/validation).

A LimitRange's default limit can be below a container's own request, or above the limit of the pod as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kschedctl.api import field_errors
from kschedctl.api.canonical import Amount, Amounts, forms, parse_amounts
from kschedctl.api.container_limits import container_limits
from kschedctl.api.pod import Container, Pod, ResourceRequirements
from kschedctl.api.resources import (
    HUGEPAGES_PREFIX,
    RequestRules,
    container_requests,
    is_extended_resource,
)
from kschedctl.findings.finding import Finding

_BY_SPEC = RequestRules(pod_level=False, status=False, pod_level_status=False)


def resource_findings(pod: Pod, *, pod_level: bool = True) -> Iterator[Finding]:
    """Requests that are not within limits, or those of containers not within those of the pod as a whole.

    Parameters
    ----------
    pod : Pod
        The pod, as the plugins left it.
    pod_level : bool
        Whether ``spec.resources`` counts (PodLevelResources).

    Yields
    ------
    Finding
        In the API server's words.

    Raises
    ------
    QuantityError
        Where a resource of the pod is not a quantity.
    """
    for finding in (*_of_containers(pod), *(_of_pod(pod) if pod_level else ())):
        yield replace(finding, hint="where a container gives no request or limit, defaults and LimitRanges may set one")


def containers_of(pod: Pod) -> Iterator[tuple[str, Container]]:
    """All containers with their fields."""
    for i, container in enumerate(pod.spec.containers):
        yield f"spec.containers[{i}]", container
    for i, container in enumerate(pod.spec.init_containers):
        yield f"spec.initContainers[{i}]", container


def amounts_of(resources: ResourceRequirements, path: str) -> tuple[Amounts, Amounts]:
    """Requests and limits of the container, or pod, at a field."""
    return (
        parse_amounts(resources.requests, f"{path}.resources.requests"),
        parse_amounts(resources.limits, f"{path}.resources.limits"),
    )


def summed(pod: Pod) -> tuple[Amounts, Amounts]:
    """Requests and limits of all containers of a pod together."""
    every = [container.resources for _, container in containers_of(pod)]
    out = []
    for nanos, lists in (
        (container_requests(pod, _BY_SPEC), [resources.requests for resources in every]),
        (container_limits(pod), [resources.limits for resources in every]),
    ):
        written = forms(lists)
        out.append({name: Amount(n, written[name]) if n else Amount(0) for name, n in nanos.items()})
    requests, limits = out
    return requests, limits


def _of_containers(pod: Pod) -> Iterator[Finding]:
    for path, container in containers_of(pod):
        yield from requests_beyond_limits(*amounts_of(container.resources, path), f"{path}.resources.requests")


def _of_pod(pod: Pod) -> Iterator[Finding]:
    requests, limits = amounts_of(pod.spec.resources, "spec")
    yield from requests_beyond_limits(requests, limits, "spec.resources.requests")
    container_requests, container_limits = summed(pod)
    for name, total in container_requests.items():
        if name in requests and total.nanos > requests[name].nanos:
            problem = f"must be greater than or equal to aggregate container requests of {total}"
            yield field_errors.invalid(f"spec.resources.requests[{name}]", str(requests[name]), problem)
    for name, total in container_limits.items():
        # Of other resources, containers may together have more than the pod.
        if name.startswith(HUGEPAGES_PREFIX) and name in limits and total.nanos > limits[name].nanos:
            problem = f"must be greater than or equal to aggregate container limits of {total}"
            yield field_errors.invalid(f"spec.resources.limits[{name}]", str(limits[name]), problem)
    for i, container in enumerate(pod.spec.containers):
        for name, limit in amounts_of(container.resources, f"spec.containers[{i}]")[1].items():
            if name in limits and limit.nanos > limits[name].nanos:
                problem = f"must be less than or equal to pod limits of {limits[name]}"
                yield field_errors.invalid(f"spec.containers[{i}].resources.limits[{name}]", str(limit), problem)


def requests_beyond_limits(requests: Amounts, limits: Amounts, field: str) -> Iterator[Finding]:
    """Every request that its limit does not allow, in the API server's words (ValidateContainerResourceRequirements).

    Examples
    --------
    >>> print(*requests_beyond_limits({"cpu": Amount.parse("2")}, {"cpu": Amount.parse("500m")}, "requests"))
    requests: Invalid value: "2": must be less than or equal to cpu limit of 500m
    """
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is None:
            continue
        # Extended resources and huge pages are handed out whole.
        if request.nanos != limit.nanos and (is_extended_resource(name) or name.startswith(HUGEPAGES_PREFIX)):
            yield field_errors.invalid(field, str(request), f"must be equal to {name} limit of {limit}")
        elif request.nanos > limit.nanos:
            yield field_errors.invalid(field, str(request), f"must be less than or equal to {name} limit of {limit}")
