"""The reason of a NodePool that launches no node for a pod, in our words."""

from collections.abc import Sequence
from typing import Final

from kschedctl.autoscaler.instance_types import WELL_KNOWN, InstanceType, allocatable
from kschedctl.autoscaler.karpenter.claims import Obstacle, Refusal
from kschedctl.autoscaler.karpenter.pods import requests_of, requirements_of, untolerated
from kschedctl.autoscaler.karpenter.pools import template_requirements, types_of
from kschedctl.autoscaler.karpenter.state import NODES, state_nodes
from kschedctl.autoscaler.requirements import Requirement, conflict, incompatibility, intersects
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.objects.core import Taint
from kschedctl.objects.karpenter import NodePool, condition, holds
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import (
    EPHEMERAL_STORAGE,
    MEMORY,
    amount_of,
    format_amount,
    parse_resources,
    scheduler_units,
)

TOO_FEW_TYPES: Final = "has too few known instance types for the minValues of its requirements"
#: Values of a requirement that a sentence shows.
_MOST_VALUES: Final = 4


def without_types(pod: Pod, pool: NodePool) -> Refusal | None:
    """Return what a pool without known instance types has against a pod; ``None`` if only they decide."""
    taints = untolerated(pod.spec, pool.spec.template.spec.taints)
    if taints:
        return Refusal(Obstacle.TAINTS, "; ".join(f"did not tolerate taint (taint={taint})" for taint in taints))
    known, wanted = template_requirements(pool), requirements_of(pod.spec, preferred=False)
    problem = incompatibility(known, wanted, WELL_KNOWN)
    return Refusal(Obstacle.REQUIREMENTS, f"incompatible requirements, {problem}", known, wanted) if problem else None


def why_unusable(pool: NodePool) -> str:
    """Return the reason why a pool launches no nodes for any pod; empty if it does."""
    if pool.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if pool.spec.replicas is not None:
        return f"is static: it always has {pool.spec.replicas} nodes, whatever is pending"
    if not holds(pool.status.conditions, "Ready"):
        ready = condition(pool.status.conditions, "Ready")
        failed = [each for each in pool.status.conditions if each.type != "Ready" and each.status == "False"]
        told = next((each for each in (*failed, ready) if each is not None and (each.message or each.reason)), None)
        return "is not ready" + (f": {told.message or told.reason}" if told is not None else "")
    return ""


def reason_of(
    cluster: Cluster, pod: Pod, pool: NodePool, refusal: Refusal | None, types: Sequence[InstanceType]
) -> str:
    """Return what a usable pool has against a pod, as a clause after its name."""
    if refusal is None:
        return "admits the pod, and the nodes of the cluster show none of its instance types"
    match refusal.obstacle:
        case Obstacle.TAINTS:
            taints = untolerated(pod.spec, pool.spec.template.spec.taints)
            return f"has the {taints_text(taints)}, which the pod does not tolerate"
        case Obstacle.LIMIT | Obstacle.NODE_LIMIT:
            return f"is at its limit of {_limits(cluster, pool, types)}"
        case Obstacle.REQUIREMENTS | Obstacle.PLACES:
            who = "the pod" if refusal.obstacle is Obstacle.REQUIREMENTS else "the pod's volume"
            return listed([_conflict(key, refusal, who) for key in conflicting(refusal)]) or refusal.text
        case Obstacle.TYPES:
            met, fits, offered = refusal.found
            own = own_types(pool, types)
            if not met:
                return "has no known instance type that meets the requirements of the pod"
            if not fits and offered:
                return f"has no known instance type with {_requests(pod)} to spare{_largest(own, pod)}"
            return "has no known instance type that meets the requirements, is large enough and is offered there"
        case Obstacle.MIN_VALUES:
            return TOO_FEW_TYPES
        case Obstacle.TOPOLOGY:
            return f"has no place that the pod's topology constraints allow: {refusal.text}"
        case _:
            return refusal.text


def own_types(pool: NodePool, types: Sequence[InstanceType]) -> list[InstanceType]:
    """Return the instance types that a pool's class offers and its requirements allow."""
    allowed = template_requirements(pool)
    return [each for each in types_of(pool, types) if not conflict(each.requirements, allowed)]


def taints_text(taints: Sequence[Taint]) -> str:
    """Return taints with the noun: ``taint a=b:NoSchedule``."""
    return f"taint{'s' if len(taints) > 1 else ''} {listed([str(each) for each in taints])}"


def _limits(cluster: Cluster, pool: NodePool, types: Sequence[InstanceType]) -> str:
    limits, used = parse_resources(pool.spec.limits), state_nodes(cluster).used[pool.name]
    smallest: dict[str, int] = {}
    for kind in own_types(pool, types):
        for name, amount in {**parse_resources(kind.capacity), NODES: NANO}.items():
            smallest[name] = min(smallest.get(name, amount), amount)
    full = [name for name in limits if used[name] + smallest.get(name, 0) > limits[name]]
    return listed([f"{_amount(name, limits[name])} ({_bare(name, used[name])} used)" for name in full or limits])


def _amount(name: str, nanos: int) -> str:
    return amount_of(name, _units(name, nanos))


def _bare(name: str, nanos: int) -> str:
    return format_amount(name, _units(name, nanos))


def _units(name: str, nanos: int) -> int:
    return scheduler_units({name: nanos}).get(name, -(-nanos // NANO))


def rounded(name: str, nanos: int) -> int:
    """Return an amount in the scheduler's units, of bytes the next whole GiB."""
    amount = _units(name, nanos)
    return -(-amount >> 30 << 30) if name in (MEMORY, EPHEMERAL_STORAGE) else amount


def conflicting(refusal: Refusal) -> list[str]:
    """Return the keys of labels on which a pool and a pod do not agree."""
    known, wanted = refusal.known, refusal.wanted
    return [
        key
        for key, each in sorted(wanted.items())
        if (key not in known and key not in WELL_KNOWN and not each.excludes)
        or (key in known and not intersects(known[key], each))
    ]


def _conflict(key: str, refusal: Refusal, who: str) -> str:
    wants = _words(refusal.wanted[key])
    if key not in refusal.known:
        return f"gives its nodes no label {key}, and {who} wants {wants}"
    return f"allows {key} {_words(refusal.known[key])}, and {who} wants {wants}"


def _words(each: Requirement) -> str:
    """Return a requirement without its key: ``in (a, b)``, ``other than a``, ``any``."""
    values = sorted(each.values)
    shown = values if len(values) <= _MOST_VALUES else [*values[:_MOST_VALUES], f"{len(values) - _MOST_VALUES} others"]
    match each.operator:
        case "In":
            return listed(shown)
        case "NotIn":
            return f"other than {listed(shown)}"
        case "DoesNotExist":
            return "absent"
        case _:
            bounds = [
                f"{sign} {bound}"
                for sign, bound in (("at least", each.gte), ("at most", each.lte))
                if bound is not None
            ]
            return listed(bounds) or "present"


def _requests(pod: Pod) -> str:
    nanos = requests_of(pod)[0]
    return listed([_amount(name, amount) for name, amount in nanos.items() if amount and name != "pods"])


def _largest(types: Sequence[InstanceType], pod: Pod) -> str:
    if not types:
        return ""
    kind = max(types, key=lambda each: (parse_resources(each.capacity).get("cpu", 0), each.name))
    left = allocatable(kind)
    offered = listed([_amount(name, left[name]) for name in ("cpu", "memory") if name in left])
    fits = all(left.get(name, 0) >= amount for name, amount in requests_of(pod)[0].items())
    others = ", those of DaemonSets included" if fits else ""
    return f" (the largest, {kind.name}, leaves {offered} to pods{others})"
