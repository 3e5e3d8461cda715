"""Resource requests of pods and capacities of nodes, in the scheduler's units: milli-CPU, bytes, counts.

The computation follows k8s.io/component-helpers ``resource.PodRequests`` (KEP-753 sidecar containers, KEP-1287 in-place
resize, KEP-2837 pod-level resources) and the scheduler's ``framework.Resource``.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.common.wording import counted
from kschedctl.objects.core import ResourceList
from kschedctl.objects.names import extended_resource_problems
from kschedctl.objects.pod import Container, ContainerStatus, Pod, ResourceRequirements
from kschedctl.objects.quantity import NANO, QuantityError, bounded, parse_quantity, scaled_amount
from kschedctl.objects.releases.release import Release

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
HUGEPAGES_PREFIX: Final = "hugepages-"

#: The requests assumed for scoring if a container has none (scheduler/util/pod_resources.go).
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024
_NON_ZERO_DEFAULTS: Final = {CPU: DEFAULT_MILLI_CPU * NANO // 1000, MEMORY: DEFAULT_MEMORY_BYTES * NANO}

Nanos = dict[str, int]


class RequestRules(msgspec.Struct, frozen=True):
    """The rules for computing pod requests: feature gates, and the release's way to count a resize in progress."""

    #: PodLevelResources: True if ``spec.resources`` counts.
    pod_level: bool = True
    #: InPlacePodVerticalScaling: True if the resources that the kubelet reports for containers count for bound
    #: pods.
    status: bool = True
    #: InPlacePodLevelResourcesVerticalScaling: True if the reported pod-level resources count for bound pods.
    pod_level_status: bool = True
    #: True if the desired, allocated and actuated requests are each summed over the pod before the maximum per
    #: resource is taken; False if the maximum is taken per container.
    totals: bool = False
    #: True if an amount or the sum over a node's pods stays at the largest int64 where it would exceed it; False if the
    #: amount counts as 0, and the sum wraps.
    saturate: bool = False

    @classmethod
    def of(cls, release: Release) -> "RequestRules":
        return cls(
            pod_level=release.enabled("PodLevelResources"),
            status=release.enabled("InPlacePodVerticalScaling"),
            pod_level_status=release.enabled("InPlacePodLevelResourcesVerticalScaling"),
            totals=release.resizes_count_in_totals,
            saturate=release.sums_saturate,
        )


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Report whether a resource is an extended resource: in a domain other than Kubernetes' own (core/v1/helper)."""
    return not extended_resource_problems(name)


def is_scalar_resource(name: str) -> bool:
    """Report whether the scheduler counts a resource other than cpu, memory, ephemeral storage and pods."""
    return (
        is_extended_resource(name)
        or name.startswith((HUGEPAGES_PREFIX, "attachable-volumes-"))
        or "kubernetes.io/" in name
    )


def exact_units(nanos: Mapping[str, int]) -> dict[str, int]:
    """Return the resources that the scheduler counts, in milli-CPU, bytes and counts, rounded up, however large."""
    return {
        name: scaled_amount(amount, milli=name == CPU)
        for name, amount in nanos.items()
        if name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar_resource(name)
    }


def scheduler_units(nanos: Mapping[str, int], rules: RequestRules | None = None) -> dict[str, int]:
    """Return the resources that the scheduler counts, as int64 in its units: milli-CPU, bytes, and counts.

    Args:
        rules: The rules for amounts that do not fit into an int64; by default these are 0, as until 1.37.
    """
    saturate = rules is not None and rules.saturate
    return {name: bounded(amount, saturate=saturate) for name, amount in exact_units(nanos).items()}


def parse_resources(resources: ResourceList, path: str = "") -> Nanos:
    """Parse a ResourceList into nano-units.

    Raises QuantityError if a value is not a quantity; the error has the field's path below ``path``.
    """
    out = {}
    for name, text in resources.items():
        try:
            out[name] = parse_quantity(text)
        except QuantityError as error:
            raise QuantityError(str(error), f"{path}.{name}") from None
    return out


def known_amounts(resources: ResourceList) -> dict[str, int]:
    """Return a ResourceList in milli-CPU, bytes and counts; empty if one of its values is not a quantity."""
    try:
        return scheduler_units(parse_resources(resources))
    except QuantityError:
        return {}


def pod_requests(pod: Pod, rules: RequestRules, *, non_missing: Mapping[str, int] | None = None) -> Nanos:
    """Return a pod's requests, including init containers, sidecars, pod-level resources and overhead.

    Args:
        pod: The pod, with API defaults applied.
        rules: The enabled feature gates.
        non_missing: The amount, in nano-units, that counts for a container without a request for the resource.

    Returns: The requests in nano-units, by resource name.

    Raises QuantityError if a value is not a quantity; the error has the field's path.
    """
    requests = container_requests(pod, rules, non_missing=non_missing)
    pod_level = pod_level_requests(pod)
    if rules.pod_level and pod_level:
        status = pod.status.resources
        effective = None
        if rules.pod_level_status and rules.status and status is not None:
            effective = _effective(pod, pod_level, status.requests, pod.status.allocated_resources, "status.resources")
        if effective is None:
            requests |= pod_level
        elif rules.totals:
            requests |= {name: amount for name, amount in effective.items() if is_pod_level_resource(name)}
        else:
            requests |= {name: effective.get(name, 0) for name in pod_level}
    _add_amounts(requests, parse_resources(pod.spec.overhead, "spec.overhead"))
    return requests


def pod_level_requests(pod: Pod) -> Nanos:
    """Return the resources in ``spec.resources.requests`` that count at pod level: cpu, memory and huge pages."""
    listed = parse_resources(pod.spec.resources.requests, "spec.resources.requests")
    return {name: amount for name, amount in listed.items() if is_pod_level_resource(name)}


def is_pod_level_resource(name: str) -> bool:
    """Report whether a resource can be requested at pod level (KEP-2837)."""
    return name in (CPU, MEMORY) or name.startswith(HUGEPAGES_PREFIX)


def non_zero_requests(pod: Pod, rules: RequestRules, requests: Mapping[str, int]) -> tuple[int, int]:
    """Return the requests of a pod on a node as scoring counts them, with defaults for containers without a request.

    Args:
        pod: The pod, with API defaults applied.
        rules: The enabled feature gates.
        requests: The pod's requests in nano-units, from ``pod_requests``.

    Returns: The requests in milli-CPU and in bytes of memory.
    """
    missing: Mapping[str, int] = _NON_ZERO_DEFAULTS
    if rules.pod_level and pod_level_requests(pod):
        missing = {name: amount for name, amount in _NON_ZERO_DEFAULTS.items() if name not in requests}
    counted = pod_requests(pod, rules, non_missing=missing) if missing else requests
    units = scheduler_units(counted, rules)
    return units.get(CPU, 0), units.get(MEMORY, 0)


def scoring_requests(pod: Pod, rules: RequestRules) -> Nanos:
    """Return the requests of the pod being scheduled as scoring counts them, in nano-units, with the defaults."""
    return pod_requests(pod, rules, non_missing=_NON_ZERO_DEFAULTS)


def container_requests(pod: Pod, rules: RequestRules, *, non_missing: Mapping[str, int] | None = None) -> Nanos:
    """Return the aggregated container requests in nano-units: the larger of the running and the initializing phase."""
    if rules.status and rules.totals:
        return _largest_total(pod, non_missing or {}, pod_level_status=rules.pod_level_status)
    ordinary = {container.name for container in pod.spec.init_containers if container.restart_policy != "Always"}
    statuses = {name: status for name, status in _statuses(pod).items() if rules.status and name not in ordinary}

    def requests_of(container: Container, path: str) -> Nanos:
        out = _spec_requests(container, path)
        status = statuses.get(container.name)
        if status is not None and status.resources is not None:
            out = _effective(pod, out, status.resources.requests, status.allocated_resources, "status")
        return out

    return _summed(pod, requests_of, non_missing or {})


def _largest_total(pod: Pod, non_missing: Mapping[str, int], *, pod_level_status: bool) -> Nanos:
    """Return the maximum of the desired, allocated and actuated requests, each summed over the pod.

    If the resize is infeasible, the desired requests are left out. If the kubelet reports pod-level resources, they
    replace the allocated and actuated requests of the containers.
    """
    statuses = _statuses(pod)
    infeasible = _resize_is_infeasible(pod)

    def allocated(container: Container, path: str) -> Nanos:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources:
            return parse_resources(status.allocated_resources, "status.allocatedResources")
        return {} if infeasible else _spec_requests(container, path)

    def actuated(container: Container, path: str) -> Nanos:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return parse_resources(status.resources.requests, "status.resources.requests")
        return allocated(container, path)

    by_container = [allocated, actuated] if infeasible else [_spec_requests, allocated, actuated]
    as_a_whole: list[Nanos] = []
    of_pod = pod.status.resources
    if pod_level_status and of_pod is not None and of_pod.requests and pod.status.allocated_resources:
        as_a_whole.append(parse_resources(pod.status.allocated_resources, "status.allocatedResources"))
        as_a_whole.append(parse_resources(of_pod.requests, "status.resources.requests"))
        by_container = [] if infeasible else [_spec_requests]
    elif not statuses:
        # Allocated and actuated requests are equal then: both fall back to the spec, or to nothing.
        by_container = [allocated]
    out: Nanos = {}
    for requests_of in by_container:
        _raise_to(out, _summed(pod, requests_of, non_missing))
    for total in as_a_whole:
        _raise_to(out, total)
    return out


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    """Return the container statuses in which the kubelet reports resources, by container name."""
    reported = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return {status.name: status for status in reported if status.resources is not None or status.allocated_resources}


def _spec_requests(container: Container, path: str) -> Nanos:
    return parse_resources(container.resources.requests, f"{path}.resources.requests")


def _summed(pod: Pod, requests_of: Callable[[Container, str], Nanos], non_missing: Mapping[str, int]) -> Nanos:
    """Return the sum over containers and sidecars, or the peak of the initialization phase if that is larger."""
    running: Nanos = {}
    for i, container in enumerate(pod.spec.containers):
        _add_amounts(running, {**non_missing, **requests_of(container, f"spec.containers[{i}]")})
    sidecars: Nanos = {}
    initializing: Nanos = {}
    for i, container in enumerate(pod.spec.init_containers):
        requests = {**non_missing, **requests_of(container, f"spec.initContainers[{i}]")}
        if container.restart_policy == "Always":
            _add_amounts(running, requests)
            _add_amounts(sidecars, requests)
            _raise_to(initializing, sidecars)
        else:
            _add_amounts(requests, sidecars)
            _raise_to(initializing, requests)
    _raise_to(running, initializing)
    return running


def _effective(pod: Pod, spec: Nanos, actuated: ResourceList, allocated: ResourceList, path: str) -> Nanos:
    """Return the requests that count during a resize: the maximum of desired, actuated and allocated."""
    out: Nanos = {} if _resize_is_infeasible(pod) else dict(spec)
    _raise_to(out, parse_resources(actuated, f"{path}.resources.requests"))
    _raise_to(out, parse_resources(allocated, f"{path}.allocatedResources"))
    return out


def _resize_is_infeasible(pod: Pod) -> bool:
    pending = next((c for c in pod.status.conditions if c.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _add_amounts(total: Nanos, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Nanos, floor: Mapping[str, int]) -> None:
    for name, amount in floor.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def container_limits(pod: Pod) -> Nanos:
    """Return the aggregated limits of a pod's containers according to its spec, in nano-units by resource."""
    as_requests = RequestRules(pod_level=False, status=False, pod_level_status=False)

    def turn(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, resources=ResourceRequirements(requests=c.resources.limits)) for c in containers)

    spec = replace(pod.spec, containers=turn(pod.spec.containers), init_containers=turn(pod.spec.init_containers))
    return container_requests(replace(pod, spec=spec), as_requests)


# Human-readable amounts of resources: ``2 cpu``, ``1.5Gi memory``, ``3 nvidia.com/gpu``.

#: The resource of claims.
_STORAGE: Final = "storage"
_BINARY_UNITS: Final = tuple((1 << 10 * power, f"{prefix}i") for power, prefix in enumerate("KMGTPE", 1))[::-1]


def format_amount(resource: str, amount: int) -> str:
    """Format an amount for people, rounded to 3 decimals of a CPU or 2 of a binary unit, without the resource's name.

    Args:
        resource: The resource's name, which determines the unit.
        amount: The amount in milli-CPU, bytes, or as a count.

    >>> format_amount("cpu", 1250), format_amount("memory", 3 << 29), format_amount("pods", 110)
    ('1.25', '1.5Gi', '110')
    """
    if resource == CPU:
        return f"{amount / 1000:.3f}".rstrip("0").rstrip(".")
    if resource in (MEMORY, EPHEMERAL_STORAGE, _STORAGE) or resource.startswith(HUGEPAGES_PREFIX):
        for unit, suffix in _BINARY_UNITS:
            if abs(amount) >= unit:
                return f"{amount / unit:.2f}".rstrip("0").rstrip(".") + suffix
        return str(amount)
    return str(amount)


def amount_of(resource: str, amount: int) -> str:
    """Format an amount with the resource's name, as it reads in a sentence.

    >>> amount_of("cpu", 1250), amount_of("nvidia.com/gpu", 2), amount_of("pods", 2)
    ('1.25 cpu', '2 nvidia.com/gpu', '2 pods')
    """
    return counted(amount, "pod") if resource == PODS else f"{format_amount(resource, amount)} {resource}"


def format_nanos(name: str, nanos: int) -> str:
    """Format a quantity in nano-units for people, in the notation of `format_amount`.

    Args:
        name: The name of the resource, or of its requests or limits in a ResourceQuota.

    >>> format_nanos("requests.cpu", 47_810 * NANO // 1000), format_nanos("storage", 10 * 2**30 * NANO)
    ('47.81', '10Gi')
    """
    resource = name.removeprefix("requests.").removeprefix("limits.")
    return format_amount(resource, -(-nanos * 1000 // NANO) if resource == CPU else -(-nanos // NANO))


def exact_quantity(resource: str, amount: int) -> str:
    """Format an amount in the scheduler's units as a quantity, without rounding.

    Args:
        amount: The amount in milli-CPU, bytes, or as a count.

    >>> exact_quantity("cpu", 1500), exact_quantity("memory", 3 << 29), exact_quantity("nvidia.com/gpu", 2)
    ('1500m', '1536Mi', '2')
    """
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource in (MEMORY, EPHEMERAL_STORAGE) or "storage" in resource or resource.startswith(HUGEPAGES_PREFIX):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if amount and amount % (1 << power) == 0:
                return f"{amount >> power}{suffix}"
    return str(amount)
