"""Node pools as lint rules see them: Karpenter's pools of manifests and snapshot, and what each has against pods."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from kschedctl.autoscaler.catalog import seen_types
from kschedctl.autoscaler.instance_types import WELL_KNOWN, InstanceType, Resources, allocatable
from kschedctl.autoscaler.karpenter.pods import requests_of, requirements_of, untolerated, without_first_term
from kschedctl.autoscaler.karpenter.pools import made, own_requirements, template_requirements, types_of
from kschedctl.autoscaler.karpenter.state import NODES, state_nodes
from kschedctl.autoscaler.requirements import (
    Requirement,
    Requirements,
    added,
    are_compatible,
    conflict,
    conflicts,
    incompatibility,
    of_labels,
)
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.findings import field_path
from kschedctl.common.wording import listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.related_objects import NODE_POOL, has_node_pools, typed_pool
from kschedctl.linter.values import NOT_FILLED_IN, unfilled
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.event import Event
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import PREFER_NO_SCHEDULE, Pod, PodSpec
from kschedctl.objects.quantity import NANO, QuantityError
from kschedctl.objects.resources import CPU, MEMORY, PODS, format_nanos, parse_resources
from kschedctl.objects.selectors import DOES_NOT_EXIST, IN
from kschedctl.objects.well_known import HOSTNAME, INSTANCE_TYPE
from kschedctl.sources.snapshot.decoding import decode

#: Labels of nodes that other provisioners create: node groups, control planes, virtual nodes.
_OF_OTHERS: Final = (
    "eks.amazonaws.com/nodegroup",
    "eks.amazonaws.com/compute-type",
    "alpha.eksctl.io/nodegroup-name",
    "kops.k8s.io/instancegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "node-role.kubernetes.io/",
    HOSTNAME,
)
#: The reason of Karpenter's Event about a pool that launches nothing.
_NO_TYPES: Final = "NoCompatibleInstanceTypes"
#: The resource that a label counts, with its unit in nano-units.
_SIZES: Final = {
    "karpenter.k8s.aws/instance-cpu": (CPU, NANO),
    "karpenter.k8s.aws/instance-memory": (MEMORY, NANO << 20),
    "eks.amazonaws.com/instance-cpu": (CPU, NANO),
    "eks.amazonaws.com/instance-memory": (MEMORY, NANO << 20),
    "karpenter.azure.com/sku-cpu": (CPU, NANO),
    "karpenter.azure.com/sku-memory": (MEMORY, NANO << 20),
}


class SizedType(NamedTuple):
    """An instance type, with the amounts that it leaves to pods, in nano-units."""

    kind: InstanceType
    free: dict[str, int]


@dataclass(frozen=True, slots=True)
class PoolRefusal:
    """A NodePool that can have no node for some pods, whatever else runs."""

    pool: NodePool
    #: The reason as a clause after the name of the pool.
    reason: str
    #: True if the reason is a taint.
    is_taint: bool = False
    #: True if larger instance types than those that the snapshot shows may exist.
    is_of_seen_types: bool = False


@dataclass(frozen=True, slots=True)
class Pools:
    """The NodePools by name, without those that are being deleted. A static pool has nodes, too, that may hold pods."""

    by_name: dict[str, NodePool] = field(default_factory=dict)
    #: The manifests of the pools, by name; those of the snapshot alone have none.
    manifests: dict[str, LintObject] = field(default_factory=dict)
    #: The reason why not all pools are known; empty if they are.
    unknown: str = ""


def pools_seen_from(obj: LintObject, context: LintContext) -> Pools:
    """Return the NodePools of the snapshot, as the manifests that an object belongs to change them."""
    cluster = cluster_of(context)
    found = {pool.name: pool for pool in cluster.list(NodePool)} if cluster is not None else {}
    given = {each.name: each for each in context.manifests.seen_from(obj, NODE_POOL)}
    every = (each for each in context.manifests.objects if each.type == NODE_POOL)
    variant = next((each for each in every if each.partial or each.name not in given), None)
    if variant is not None:
        return Pools(unknown=f"NodePool {variant.name} is {'partial' if variant.partial else 'in several files'}")
    for name, each in given.items():
        pool = typed_pool(each)
        if pool is None:
            return Pools(unknown=f"NodePool {name} cannot be read")
        found[name] = pool
    return Pools({name: each for name, each in found.items() if each.metadata.deletion_timestamp is None}, given)


def cluster_of(context: LintContext) -> Cluster | None:
    """Return the cluster of the snapshot, with the manifests applied; ``None`` if there is no snapshot."""
    return context.overlay.cluster.cluster if context.overlay is not None else None


def pod_of(pods: WorkloadPods) -> Pod | str:
    """Return a pod of a template with the API's defaults, or the reason why it cannot be read."""
    try:
        spec = decode(dict(pods.spec), PodSpec)
        pod = default_pod(Pod(metadata=ObjectMeta(name=pods.obj.name), spec=spec))
        requests_of(pod)
    except (InputError, QuantityError):
        return "its pods cannot be read"
    missing = unfilled(msgspec.to_builtins(spec))
    return pod if missing is None else f"{field_path(pods.of_spec(*missing))} {NOT_FILLED_IN}"


def alternatives(spec: PodSpec) -> list[Requirements]:
    """Return the requirements of a pod, for each of the terms of its node affinity."""
    out = []
    left: PodSpec | None = spec
    while left is not None:
        out.append(requirements_of(left, preferred=False))
        left = without_first_term(left)
    return out


def is_for_others(wanted: Requirements) -> bool:
    """Report whether requirements are for nodes that Karpenter does not launch."""
    own = wanted.get(NODE_POOL_LABEL)
    if own is not None and own.operator == DOES_NOT_EXIST:
        return True
    return any(key.startswith(_OF_OTHERS) for key, each in wanted.items() if not each.excludes)


def names_pool(pool: NodePool, wanted: Requirements) -> bool:
    """Report whether requirements are for a label that a NodePool gives to its nodes."""
    return any(key == NODE_POOL_LABEL or key in pool.spec.template.metadata.labels for key in wanted)


def refusal(pool: NodePool, pod: Pod, types: Sequence[SizedType]) -> PoolRefusal | None:
    """Return the reason why no node of a NodePool could hold a pod; ``None`` if one may.

    Args:
        types: The instance types that are known.
    """
    taints = [
        each
        for each in untolerated(pod.spec, pool.spec.template.spec.taints)
        # The last preference that Karpenter gives up is to avoid these.
        if each.effect != PREFER_NO_SCHEDULE
    ]
    if taints:
        reason = f"has the taint {listed([str(each) for each in taints])}, which the pods do not tolerate"
        return PoolRefusal(pool, reason, is_taint=True)
    known = template_requirements(pool)
    answers = [_incompatible(known, wanted) for wanted in alternatives(pod.spec)]
    met = [wanted for wanted, answer in zip(alternatives(pod.spec), answers, strict=True) if not answer]
    if not met:
        return PoolRefusal(pool, answers[0])
    requests = requests_of(pod)[0]
    limit = _limit(pool, requests)
    if limit:
        return PoolRefusal(pool, limit)
    sizes = [_size(added(known, wanted.values()), requests) for wanted in met]
    if all(sizes):
        return PoolRefusal(pool, sizes[0])
    return _too_large(pool, [added(known, wanted.values()) for wanted in met], requests, types)


def _incompatible(known: Requirements, wanted: Requirements) -> str:
    """Return the reason why nodes of a pool cannot meet requirements; empty if they may."""
    if are_compatible(known, wanted, WELL_KNOWN):
        return ""
    found = [
        f"allows {known[key]}, and the pods want {wanted[key]}"
        for key in sorted(known.keys() & wanted.keys())
        if conflicts({key: known[key]}, {key: wanted[key]})
    ]
    return listed(found) if found else f"refuses them: {incompatibility(known, wanted, WELL_KNOWN)}"


def _limit(pool: NodePool, requests: dict[str, int]) -> str:
    """Return the reason why a pool's limits allow no node that is large enough; empty if they may."""
    wanted = {**requests, NODES: NANO}
    for name, limit in parse_resources(pool.spec.limits).items():
        if wanted.get(name, 0) > limit:
            asked = "one node" if name == NODES else f"a request of {format_nanos(name, wanted[name])}"
            return f"has a limit of {format_nanos(name, limit)} {name}, less than {asked}"
    return ""


def _size(requirements: Requirements, requests: dict[str, int]) -> str:
    """Return the reason why requirements on sizes allow no node that is large enough; empty if they may."""
    for key, (resource, unit) in _SIZES.items():
        most = _largest_value(requirements.get(key))
        if most is not None and most * unit < requests.get(resource, 0):
            asked = format_nanos(resource, requests[resource])
            return f"allows {requirements[key]}, and the pods request {asked} {resource}"
    return ""


def _largest_value(own: Requirement | None) -> int | None:
    if own is None:
        return None
    if own.complement:
        return own.lte
    return max((int(value) for value in own.values if value.isascii() and value.isdigit()), default=None)


def _too_large(
    pool: NodePool, met: Sequence[Requirements], requests: dict[str, int], types: Sequence[SizedType]
) -> PoolRefusal | None:
    """Return that the known instance types which a pool allows are too small for requests, if it is so.

    Args:
        met: The requirements of a node of the pool with those of the pods, for each term that they can meet.
    """
    allowed = []
    for kind, free in types:
        own = not kind.node_pools or pool.name in kind.node_pools
        if own and any(not conflict(kind.requirements, wanted) for wanted in met):
            if all(free.get(name, 0) >= amount for name, amount in requests.items()):
                return None
            allowed.append(free)
    most = {name: max((each.get(name, 0) for each in allowed), default=0) for name in requests}
    short = [name for name in sorted(requests) if name != PODS and most[name] < requests[name]]
    if not allowed or not short:
        return None
    amounts = [f"{format_nanos(name, most[name])} of {format_nanos(name, requests[name])} {name}" for name in short]
    return PoolRefusal(
        pool,
        f"has no known instance type that is large enough: the largest leaves {listed(amounts)}",
        is_of_seen_types=not _are_all_known(own_requirements(pool), [kind for kind, _ in types]),
    )


def _are_all_known(requirements: Requirements, types: Sequence[InstanceType]) -> bool:
    """Report whether requirements list instance types, and all of these are known."""
    own = requirements.get(INSTANCE_TYPE)
    return own is not None and own.operator == IN and own.values <= {each.name for each in types}


def could_hold(node: Node, pod: Pod) -> bool:
    """Report whether a node outside of NodePools could hold a pod if it were empty."""
    if NODE_POOL_LABEL in node.metadata.labels or untolerated(
        pod.spec, (each for each in node.spec.taints if each.effect != PREFER_NO_SCHEDULE)
    ):
        return False
    free = parse_resources(node.status.allocatable)
    labels = of_labels(node.metadata.labels)
    fits = all(free.get(name, 0) >= amount for name, amount in requests_of(pod)[0].items() if name != PODS)
    return fits and any(are_compatible(labels, wanted) for wanted in alternatives(pod.spec))


# Pools alone.


def without_types(pool: NodePool, context: LintContext) -> str:
    """Return that a pool's requirements exclude all instance types, in words; empty if that is not known.

    It is known of listed types that the snapshot shows, and of an unchanged pool for which Karpenter reports it.
    """
    cluster = cluster_of(context)
    if cluster is None:
        return ""
    types = types_of(pool, seen_types(cluster))
    own = own_requirements(pool)
    if _are_all_known(own, types):
        resources = Resources([parse_resources(each.capacity) for each in types])
        listed_types = listed(sorted(own[INSTANCE_TYPE].values), most=4)
        excluded = bool(made(pool, types, resources, best_effort=False).refusal)
        return f"the other requirements exclude all instance types that are listed: {listed_types}" if excluded else ""
    known = cluster.get(NodePool, pool.name)
    if known is None or own_requirements(known) != own:
        return ""
    events = (each for each in cluster.list(Event) if each.involved_object.kind == NodePool.__name__)
    told = any(each.involved_object.name == pool.name and each.reason == _NO_TYPES for each in events)
    return "Karpenter reports that the requirements exclude all instance types of the cloud" if told else ""


def excess(pool: NodePool, context: LintContext) -> Iterator[tuple[str, str, str]]:
    """Yield each resource of which a pool has more than its limit, with the limit and the amount in use as texts.

    Without a snapshot the amounts are those that Karpenter has written into a pool's own status.
    """
    limits, used = parse_resources(pool.spec.limits), Counter(parse_resources(pool.status.resources))
    cluster = cluster_of(context)
    if cluster is not None:
        used = state_nodes(cluster).used[pool.name]
    for name, limit in limits.items():
        if used[name] > limit:
            yield name, str(pool.spec.limits[name]), format_nanos(name, used[name])


def readable(pods: WorkloadPods, context: LintContext) -> tuple[Pools, Pod] | str | None:
    """Return the NodePools and a pod of a workload, or the reason why they are not known; ``None`` without pools.

    Karpenter adds no node for pods that claim devices, whatever its NodePools are; there is no answer for them either.
    """
    pools = pools_seen_from(pods.obj, context)
    pod = pod_of(pods)
    if pools.unknown or isinstance(pod, str):
        return pools.unknown or str(pod)
    return (pools, pod) if pools.by_name and not pod.spec.resource_claims else None


def pool_refusals(pools: Pools, pod: Pod, context: LintContext) -> list[PoolRefusal]:
    """Return what each NodePool has against a pod, in order of their names; empty if a node of one may hold it."""
    cluster = cluster_of(context)
    types = _sized_types(cluster) if cluster is not None else ()
    out = []
    for _, pool in sorted(pools.by_name.items()):
        found = refusal(pool, pod, types)
        if found is None:
            return []
        out.append(found)
    return out


def launching_pool(pods: WorkloadPods, context: LintContext) -> str:
    """Return the name of a NodePool that may launch a node for pods; empty if there is none, or that is not known."""
    known = readable(pods, context) if has_node_pools(context) and pods.type != "apps/DaemonSet" else None
    if known is None or isinstance(known, str) or any(map(is_for_others, alternatives(known[1].spec))):
        return ""
    pools, pod = known
    cluster = cluster_of(context)
    types = _sized_types(cluster) if cluster is not None else ()
    dynamic = (pool for _, pool in sorted(pools.by_name.items()) if pool.spec.replicas is None)
    return next((pool.name for pool in dynamic if refusal(pool, pod, types) is None), "")


@lru_cache(maxsize=1)
def _sized_types(cluster: Cluster) -> tuple[SizedType, ...]:
    return tuple(SizedType(kind, allocatable(kind)) for kind in seen_types(cluster))
