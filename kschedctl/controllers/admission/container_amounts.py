"""Requests and limits of the containers of a pod, each and summed."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.objects.pod import Container, Pod, ResourceRequirements
from kschedctl.objects.quantity import Amount, Amounts, forms, parse_amounts
from kschedctl.objects.resources import RequestRules, container_limits, container_requests

_BY_SPEC = RequestRules(pod_level=False, status=False, pod_level_status=False)


def containers_of(pod: Pod) -> Iterator[tuple[str, Container]]:
    """Yield every container with its field path: first the containers, then the init containers."""
    for i, container in enumerate(pod.spec.containers):
        yield f"spec.containers[{i}]", container
    for i, container in enumerate(pod.spec.init_containers):
        yield f"spec.initContainers[{i}]", container


def amounts_of(resources: ResourceRequirements, path: str) -> tuple[Amounts, Amounts]:
    """Return the requests and limits of the container or pod at the field `path`."""
    return (
        parse_amounts(resources.requests, f"{path}.resources.requests"),
        parse_amounts(resources.limits, f"{path}.resources.limits"),
    )


def aggregate_amounts(pod: Pod) -> tuple[Amounts, Amounts]:
    """Return the requests and limits of a pod, aggregated over all its containers."""
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
