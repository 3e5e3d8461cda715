"""The LimitRanger admission plugin: the defaults of a namespace's LimitRanges, then their bounds.

The annotation that an API server adds to the pod is omitted, because scheduling does not read it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace as replace_finding
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Finding, ObjectRef
from kschedctl.controllers.admission.changes import FieldChange
from kschedctl.objects.core import ResourceList
from kschedctl.objects.pod import Container, Pod, ResourceRequirements
from kschedctl.objects.policies import LimitRange, LimitRangeItem
from kschedctl.objects.quantity import (
    QUANTITY_HINT,
    Amount,
    Amounts,
    QuantityError,
    forms,
    milli_value,
    parse_amounts,
    value,
)
from kschedctl.objects.resources import CPU, MEMORY, RequestRules, container_limits, container_requests

# The bounds of a LimitRange item, and the API server's messages for violations.

#: The largest amount that is compared in milli-units (resource.MaxMilliValue).
_MAX_MILLI_VALUE: Final = (2**63 - 1) // 1000
_ZERO: Final = Amount(0)


def broken_bounds(
    kind: str, bounds: tuple[Amounts, Amounts, Amounts], requests: Amounts, limits: Amounts
) -> Iterator[str]:
    """Yield one message, in the API server's words, per bound that requests or limits violate.

    Args:
        kind: The kind of the bounds: ``Container`` or ``Pod``.
        bounds: Minimum, maximum and the largest ratio of limit to request, by resource. The API server iterates
            over each in random order; here the order is that of the names.
        requests, limits: The requests and limits of the container or pod.
    """
    minimum, maximum, ratio = bounds
    for name, bound in sorted(minimum.items()):
        yield from _below(f"minimum {name} usage per {kind} is {bound}", bound, requests.get(name), limits.get(name))
    for name, bound in sorted(maximum.items()):
        yield from _above(f"maximum {name} usage per {kind} is {bound}", bound, requests.get(name), limits.get(name))
    for name, bound in sorted(ratio.items()):
        head = f"{name} max limit to request ratio per {kind} is {bound}"
        requested, limited, _ = _comparable(requests.get(name), limits.get(name), bound)
        if not requested:
            yield f"{head}, but no request is specified or request is 0"
        elif not limited:
            yield f"{head}, but no limit is specified or limit is 0"
        else:
            observed = limited / requested
            in_milli = value(bound.nanos) <= _MAX_MILLI_VALUE
            scaled = observed * 1000 if in_milli else observed
            if scaled > float(milli_value(bound.nanos) if in_milli else value(bound.nanos)):
                yield f"{head}, but provided ratio is {observed:f}"


def _below(head: str, bound: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    requested, limited, enforced = _comparable(request, limit, bound)
    if request is None:
        yield f"{head}.  No request is specified"
    elif requested < enforced:
        yield f"{head}, but request is {request}"
    elif limit is not None and limited < enforced:
        yield f"{head}, but limit is {limit}"


def _above(head: str, bound: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    requested, limited, enforced = _comparable(request, limit, bound)
    if limit is None:
        yield f"{head}.  No limit is specified"
    elif limited > enforced:
        yield f"{head}, but limit is {limit}"
    elif request is not None and requested > enforced:
        yield f"{head}, but request is {request}"


def _comparable(request: Amount | None, limit: Amount | None, bound: Amount) -> tuple[int, int, int]:
    """Return all three amounts in milli-units if each fits into an int64 that way, else in whole units."""
    nanos = (request or _ZERO).nanos, (limit or _ZERO).nanos, bound.nanos
    scale = milli_value if all(value(n) <= _MAX_MILLI_VALUE for n in nanos) else value
    requested, limited, enforced = map(scale, nanos)
    return requested, limited, enforced


# Requests and limits of the containers of a pod, each and summed.

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


_CONTAINER: Final = "Container"
_POD: Final = "Pod"
#: The resources LimitRanger checks at pod level; huge pages are not among them.
_POD_LEVEL_RESOURCES: Final = (CPU, MEMORY)
#: The end of the path of an amount of a container.
_AMOUNT: Final = re.compile(r"(?P<field>limits|requests)\[(?P<name>[^]]*)\]$")


def default_limits(pod: Pod, cluster: Cluster) -> Pod:
    """Fill in the requests and limits that containers do not set.

    Args:
        pod: The pod, with API defaults applied.
        cluster: The cluster with its LimitRanges. If several have a default for a resource, the first one applies.
    """
    for limit_range in _limit_ranges(pod.namespace, cluster):
        pod = _with_defaults(pod, limit_range)
    return pod


def limit_findings(pod: Pod, cluster: Cluster, *, pod_level: bool = True) -> Iterator[Finding]:
    """Yield one finding per LimitRange bound that a pod violates.

    Args:
        pod: The pod as changed by the admission plugins.
        pod_level: True if ``spec.resources`` counts (PodLevelResources).

    Yields: A violation, in the API server's words.

    Raises SnapshotError if a bound is not a quantity.
    Raises QuantityError if a resource of the pod is not a quantity.
    """
    for limit_range in _limit_ranges(pod.namespace, cluster):
        hint = f"LimitRange {limit_range.name} of {pod.namespace} sets this constraint"
        for path, problem in _broken_limits(pod, limit_range, pod_level):
            yield Finding(problem, path, hint, rule="LimitRanger")


def with_default_sources(finding: Finding, changes: Iterable[FieldChange], cluster: Cluster, namespace: str) -> Finding:
    """Return a finding about amounts of a pod with a hint that names the LimitRanges that set some of these amounts.

    Args:
        finding: A problem of a pod in the namespace, as changed by the admission plugins.
        changes: The changes by LimitRanger.
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
                    c.resources, limits={**limits, **c.resources.limits}, requests={**requests, **c.resources.requests}
                ),
            )
            for c in containers
        )

    spec = replace(pod.spec, containers=filled(pod.spec.containers), init_containers=filled(pod.spec.init_containers))
    return replace(pod, spec=spec)


def _broken_limits(pod: Pod, limit_range: LimitRange, pod_level: bool) -> Iterator[tuple[str, str]]:
    """Yield the field and the API server's message for every bound that the pod violates."""
    for i, item in enumerate(limit_range.spec.limits):
        bounds = _bounds(item, limit_range.ref, f"spec.limits[{i}]")
        if item.type == _CONTAINER:
            for path, container in containers_of(pod):
                for problem in broken_bounds(_CONTAINER, bounds, *amounts_of(container.resources, path)):
                    yield f"{path}.resources", problem
        elif item.type == _POD:
            requests, limits = aggregate_amounts(pod)
            if pod_level:
                requests |= _pod_level(pod.spec.resources.requests, "spec.resources.requests")
                limits |= _pod_level(pod.spec.resources.limits, "spec.resources.limits")
            for problem in broken_bounds(_POD, bounds, requests, limits):
                yield "spec", problem


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
