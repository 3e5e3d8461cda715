"""Remedies of NodeResourcesFit that lower the pod's requests; other modules propose to free capacity on the node."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.pod import Pod, ResourceRequirements
from kschedctl.objects.policies import PodMetrics
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import (
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PODS,
    RequestRules,
    exact_quantity,
    format_amount,
    is_extended_resource,
    is_pod_level_resource,
    parse_resources,
    pod_requests,
    scheduler_units,
)
from kschedctl.scheduler.framework.remedy import Operation, Remedy, RemedyContext, add_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.node_resources.scoring import spec_only

# The usage of a workload's pods, from the PodMetrics of a snapshot.


def highest_usage(cluster: Cluster, pod: Pod, resource: str) -> int | None:
    """Return the highest usage of a resource by a pod of the same workload.

    Args:
        cluster: The cluster; only snapshots from files have PodMetrics.

    Returns: Milli-CPU or bytes; ``None`` if the snapshot has no usage of a pod of the workload.
    """
    workload, pods = workload_of(cluster, pod.metadata), cluster.pods
    usages = []
    for metrics in cluster.list(PodMetrics):
        index = pods.index.get((metrics.namespace, metrics.name))
        if index is None or workload_of(cluster, pods.records[index].metadata) != workload:
            continue
        amounts = [scheduler_units(parse_resources(each.usage)).get(resource) for each in metrics.containers]
        if any(amount is not None for amount in amounts):
            usages.append(sum(amount or 0 for amount in amounts))
    return max(usages, default=None)


#: The largest part of a request that it is lowered by.
MOST_LOWERED: Final = 0.2
#: The request that is left is at least this many times the highest usage.
_HEADROOM: Final = 1.25
#: A request of this many times the largest offer is taken for a mistake.
_OUT_OF_SCALE: Final = 10


def request_remedies(context: RemedyContext, resource: str, free: int) -> Iterator[Remedy]:
    """Propose to lower the pod's request of a resource to the free capacity.

    The request is lowered by 20 % at most: a pod with less than that is another pod. It is lowered by more only if it
    is an obvious mistake, or if PodMetrics show that no pod of the workload uses that much. An extended resource is
    never dropped.

    Args:
        free: The free capacity: milli-CPU, bytes or a count.
    """
    if resource == PODS:
        return
    before, target = requested(context.pod, context.release, resource), max(free, 0)
    share = 1 - target / before if before else 0.0
    if before <= target or not target:
        return
    mistaken = share > MOST_LOWERED and _is_mistaken(context, resource, before)
    used = highest_usage(context.cluster, context.pod, resource) if share > MOST_LOWERED and not mistaken else None
    unused = used is not None and used * _HEADROOM <= target
    if share > MOST_LOWERED and not mistaken and not unused:
        return
    rules = spec_only(RequestRules.of(context.release), pod_level=True)
    patch = _lowered(context.pod, rules, resource, target)
    if not patch:
        return
    shown, now = (format_amount(resource, amount) for amount in (_rounded_down(resource, target), before))
    if shown == now:
        shown, now = str(target), str(before)
    summary = f"request {shown} {resource} or less instead of {now}"
    if unused and used is not None:
        summary += f": no pod of its workload uses more than {format_amount(resource, used)}"
    family = ("request", resource)
    risk = Risk.MISTAKE if mistaken else Risk.REDUCED
    yield context.pod_patch(summary, *patch, risk=risk, family=family, within=share, once=True, resource=resource)


def _is_mistaken(context: RemedyContext, resource: str, amount: int) -> bool:
    """Report whether a request is likely a mistake.

    A request of ten times what any node offers has the wrong unit. One that no node can hold and that equals the limit
    is likely the limit itself, which the API server copies to a request that is not set.
    """
    offered = max((offer.get(resource, 0) for offer in context.cluster.nodes.offers), default=0)
    if not offered or amount <= offered or is_extended_resource(resource) or resource.startswith(HUGEPAGES_PREFIX):
        return False
    spec = context.pod.spec
    copied = any(
        each.resources.requests[resource] == each.resources.limits.get(resource)
        for each in (*spec.containers, *spec.init_containers)
        if resource in each.resources.requests
    )
    return copied or amount >= offered * _OUT_OF_SCALE


def requested(pod: Pod, release: Release, resource: str) -> int:
    """Return the pod's total request of a resource: milli-CPU, bytes or a count."""
    return _units(pod, spec_only(RequestRules.of(release), pod_level=True), resource)


def _rounded_down(resource: str, amount: int) -> int:
    """Round bytes down to two decimals of their binary unit, so that the displayed amount is not too large.

    Amounts of other resources are returned unchanged.
    """
    if resource not in (MEMORY, EPHEMERAL_STORAGE) and not resource.startswith(HUGEPAGES_PREFIX):
        return amount
    unit = 1 << max((amount.bit_length() - 1) // 10 * 10, 0)
    return amount - amount % max(unit // 100, 1)


def _units(pod: Pod, rules: RequestRules, resource: str) -> int:
    return scheduler_units(pod_requests(pod, rules)).get(resource, 0)


def _lowered(pod: Pod, rules: RequestRules, resource: str, target: int) -> list[Operation]:
    """Return the operations that lower the pod's total request to ``target``, or none if that is impossible.

    All containers' requests are reduced by the same factor. A pod-level request is reduced first; it must not be less
    than the sum of the containers' requests. The overhead cannot be reduced.
    """
    whole = pod.spec.resources
    as_a_whole = rules.pod_level and resource in whole.requests and is_pod_level_resource(resource)
    patch: list[Operation] = []
    if as_a_whole:
        own = _own(whole, resource)
        left = own - (_units(pod, rules, resource) - target)
        if left < 0:
            return []
        patch.append(add_operation(_requesting(whole, resource, left), "spec", "resources"))
        rules = replace(rules, pod_level=False)
    lists = {"containers": pod.spec.containers, "initContainers": pod.spec.init_containers}
    total = _units(pod, rules, resource)
    if total > target:
        overhead = scheduler_units(parse_resources(pod.spec.overhead)).get(resource, 0)
        if target < overhead or total == overhead:
            return []
        left, shared = target - overhead, total - overhead
        for field, containers in lists.items():
            for i, container in enumerate(containers):
                own = _own(container.resources, resource)
                if own:
                    lower = _requesting(container.resources, resource, own * left // shared)
                    patch.append(add_operation(lower, "spec", field, i, "resources"))
    return patch


def _own(resources: ResourceRequirements, resource: str) -> int:
    """Return the request in the scheduler's units, rounded down; 0 without one."""
    text = resources.requests.get(resource)
    if text is None:
        return 0
    nanos = parse_quantity(text)
    return -scheduler_units({resource: -nanos})[resource] if nanos else 0


def _requesting(resources: ResourceRequirements, resource: str, amount: int) -> ResourceRequirements:
    quantity = exact_quantity(resource, max(amount, 0))
    limits = resources.limits
    if is_extended_resource(resource) or resource.startswith(HUGEPAGES_PREFIX):
        # The API server requires request and limit of these resources to be equal.
        limits = {**limits, resource: quantity}
    return replace(resources, requests={**resources.requests, resource: quantity}, limits=limits)
