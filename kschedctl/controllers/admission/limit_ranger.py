"""The LimitRanger admission plugin: the defaults of a namespace's LimitRanges, then their bounds.

The annotation that an API server adds to the pod is omitted, because scheduling does not read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace as replace_finding
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Finding, ObjectRef
from kschedctl.controllers.admission.changes import FieldChange
from kschedctl.controllers.admission.container_amounts import aggregate_amounts, amounts_of, containers_of
from kschedctl.controllers.admission.limit_bounds import broken_bounds
from kschedctl.objects.core import ResourceList
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.policies import LimitRange, LimitRangeItem
from kschedctl.objects.quantity import QUANTITY_HINT, Amounts, QuantityError, parse_amounts
from kschedctl.objects.resources import CPU, MEMORY

_CONTAINER: Final = "Container"
_POD: Final = "Pod"
#: The resources LimitRanger checks at pod level; huge pages are not among them.
_POD_LEVEL_RESOURCES: Final = (CPU, MEMORY)
#: The end of the path of an amount of a container.
_AMOUNT: Final = re.compile(r"(?P<field>limits|requests)\[(?P<name>[^]]*)\]$")


def default_limits(pod: Pod, cluster: Cluster) -> Pod:
    """Fill in the requests and limits that containers do not set.

    Parameters
    ----------
    pod : Pod
        The pod, with API defaults applied.
    cluster : Cluster
        The cluster with its LimitRanges. If several have a default for a resource, the first one applies.
    """
    for limit_range in _limit_ranges(pod.namespace, cluster):
        pod = _with_defaults(pod, limit_range)
    return pod


def limit_findings(pod: Pod, cluster: Cluster, *, pod_level: bool = True) -> Iterator[Finding]:
    """Yield one finding per LimitRange bound that a pod violates.

    Parameters
    ----------
    pod : Pod
        The pod as changed by the admission plugins.
    cluster : Cluster
        The cluster with its LimitRanges.
    pod_level : bool
        True if ``spec.resources`` counts (PodLevelResources).

    Yields
    ------
    Finding
        A violation, in the API server's words.

    Raises
    ------
    SnapshotError
        If a bound is not a quantity.
    QuantityError
        If a resource of the pod is not a quantity.
    """
    for limit_range in _limit_ranges(pod.namespace, cluster):
        hint = f"LimitRange {limit_range.name} of {pod.namespace} sets this constraint"
        for path, problem in _problems(pod, limit_range, pod_level):
            yield Finding(problem, path, hint, rule="LimitRanger")


def with_default_sources(finding: Finding, changes: Iterable[FieldChange], cluster: Cluster, namespace: str) -> Finding:
    """Return a finding about amounts of a pod with a hint that names the LimitRanges that set some of these amounts.

    Parameters
    ----------
    finding : Finding
        A problem of a pod in the namespace, as changed by the admission plugins.
    changes : iterable of FieldChange
        The changes by LimitRanger.
    """
    holder = finding.field.partition("resources.")[0]
    sources = [
        f"LimitRange {_default_source(amount['field'], amount['name'], cluster, namespace)} of {namespace} sets "
        f"the {amount['name']} {amount['field'].removesuffix('s')} to {change.after}"
        for change in changes
        if change.path.startswith(holder)
        and (amount := _AMOUNT.search(change.path)) is not None
        and (change.path == finding.field or amount["name"] in finding.problem)
    ]
    return replace_finding(finding, hint="; ".join(sources)) if sources else finding


def _default_source(field: str, name: str, cluster: Cluster, namespace: str) -> str:
    """Return the name of the LimitRange that sets an amount of containers: the first one with a default for it."""
    return next(
        found.name
        for found in _limit_ranges(namespace, cluster)
        for item in found.spec.limits
        if item.type == _CONTAINER and name in (item.default if field == "limits" else item.default_request)
    )


def _limit_ranges(namespace: str, cluster: Cluster) -> list[LimitRange]:
    return [found for found in cluster.list(LimitRange) if found.namespace == namespace]


def _with_defaults(pod: Pod, limit_range: LimitRange) -> Pod:
    limits: ResourceList = {}
    requests: ResourceList = {}
    for item in limit_range.spec.limits:
        if item.type == _CONTAINER:
            limits |= item.default
            requests |= item.default_request
    if not limits and not requests:
        return pod

    def filled(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            replace(
                c,
                resources=replace(
                    c.resources,
                    limits={**limits, **c.resources.limits},
                    requests={**requests, **c.resources.requests},
                ),
            )
            for c in containers
        )

    spec = replace(pod.spec, containers=filled(pod.spec.containers), init_containers=filled(pod.spec.init_containers))
    return replace(pod, spec=spec)


def _problems(pod: Pod, limit_range: LimitRange, pod_level: bool) -> Iterator[tuple[str, str]]:
    """Yield the field and the API server's message for every bound that the pod violates."""
    for i, item in enumerate(limit_range.spec.limits):
        bounds = _bounds(item, limit_range.ref, f"spec.limits[{i}]")
        if item.type == _CONTAINER:
            for path, container in containers_of(pod):
                for problem in broken_bounds(_CONTAINER, bounds, *amounts_of(container.resources, path)):
                    yield f"{path}.resources", problem
        elif item.type == _POD:
            for problem in broken_bounds(_POD, bounds, *_of_pod(pod, pod_level)):
                yield "spec", problem


def _of_pod(pod: Pod, pod_level: bool) -> tuple[Amounts, Amounts]:
    """Return the requests and limits of the pod as a whole, without its overhead."""
    requests, limits = aggregate_amounts(pod)
    if pod_level:
        requests |= _pod_level(pod.spec.resources.requests, "spec.resources.requests")
        limits |= _pod_level(pod.spec.resources.limits, "spec.resources.limits")
    return requests, limits


def _pod_level(resources: ResourceList, path: str) -> Amounts:
    return {name: amount for name, amount in parse_amounts(resources, path).items() if name in _POD_LEVEL_RESOURCES}


def _bounds(item: LimitRangeItem, where: ObjectRef, path: str) -> tuple[Amounts, Amounts, Amounts]:
    """Return the minimum, the maximum and the largest ratio of limit to request."""
    try:
        return (
            parse_amounts(item.min, f"{path}.min"),
            parse_amounts(item.max, f"{path}.max"),
            parse_amounts(item.max_limit_request_ratio, f"{path}.maxLimitRequestRatio"),
        )
    except QuantityError as error:
        raise SnapshotError(str(error), where=where, path=error.path, hint=QUANTITY_HINT) from None
