"""The NodeClaims that a round creates (S/nodeclaimtemplate.go), and the nodes that they become."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.autoscaler.catalog import type_labels
from kschedctl.autoscaler.expansion import NodeOffer
from kschedctl.autoscaler.instance_types import (
    CAPACITY_TYPE,
    RESERVATION,
    RESERVED,
    InstanceType,
    allocatable,
    is_offered,
)
from kschedctl.autoscaler.karpenter.claims import Claim
from kschedctl.autoscaler.karpenter.pods import Stage
from kschedctl.autoscaler.karpenter.pools import LIFECYCLE, Pool, unmet_min_values
from kschedctl.autoscaler.requirements import GTE, LTE, Requirement, Requirements, added, requirement
from kschedctl.objects.core import Condition, Node, NodeSpec, NodeStatus
from kschedctl.objects.karpenter import NODE_POOL_LABEL
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.quantity import quantity_text
from kschedctl.objects.selectors import EXISTS, IN
from kschedctl.objects.well_known import HOSTNAME, INSTANCE_TYPE, ZONE

#: The most instance types of a NodeClaim.
_MOST_TYPES: Final = 600
#: The beginning of a name that no node has.
NEW: Final = "new-node-of-"


@dataclass(frozen=True, eq=False)
class NewNode:
    """A NodeClaim that would be created."""

    pool: Pool
    pods: tuple[str, ...]
    requirements: tuple[str, ...]
    #: The cheapest first.
    types: tuple[InstanceType, ...]
    #: In nano-units by resource, with the daemons.
    requests: dict[str, int]
    labels: Requirements
    #: The labels before the instance types narrowed them.
    claimed: Requirements
    min_values_relaxed: bool = False


def finished(claim: Claim, stages: Sequence[Stage]) -> NewNode | str:
    """Return the NodeClaim that is created for a claim; a problem if its 600 cheapest types are too few.

    Args:
        stages: What the pods asked for when they were added.
    """
    wanted = {key: each for key, each in claim.requirements.items() if key != HOSTNAME}
    if claim.reservations:
        ids = sorted({each.reservation_id for each in claim.reservations})
        wanted[CAPACITY_TYPE] = requirement(CAPACITY_TYPE, IN, (RESERVED,))
        wanted = added(wanted, (requirement(RESERVATION, IN, ids),))
    claimed = wanted
    every = [(claim.pool.types.types[i].price(wanted), i) for i in np.flatnonzero(claim.types).tolist()]
    chosen = [i for _, i in sorted(every)[:_MOST_TYPES]]
    mask = np.zeros_like(claim.types)
    mask[chosen] = True
    unmet = unmet_min_values(claim.pool.types, mask, wanted)
    if unmet and not claim.min_values_relaxed:
        keys = " ".join(sorted(unmet))
        return (
            "pod didn\u2019t schedule because NodePool couldn\u2019t meet minValues requirements, validating "
            f"minValues, minValues requirement is not met for label(s) (label(s)=[{keys}]) (NodePool={claim.pool.name})"
        )
    types = tuple(claim.pool.types.types[i] for i in chosen)
    own = wanted.get(INSTANCE_TYPE, requirement(INSTANCE_TYPE, EXISTS))
    names = tuple(sorted(each.name for each in types))
    wanted = added(wanted, (requirement(INSTANCE_TYPE, IN, names, own.min_values),))
    offered = {
        offering.capacity_type
        for each in types
        for offering in each.offerings
        if offering.is_launchable and is_offered(wanted, offering)
    }
    if offered:
        wanted = added(wanted, (requirement(CAPACITY_TYPE, IN, sorted(offered)),))
    requests: dict[str, int] = {}
    for stage in stages:
        for name, amount in stage.nanos.items():
            requests[name] = requests.get(name, 0) + amount
    for name, amount in _least_daemons(claim).items():
        requests[name] = requests.get(name, 0) + amount
    shown = [text for key, each in wanted.items() if key not in LIFECYCLE for text in _texts(each)]
    return NewNode(
        claim.pool,
        tuple(each.key for each in claim.pods),
        tuple(sorted(shown)),
        types,
        requests,
        wanted,
        claimed,
        claim.min_values_relaxed,
    )


def _least_daemons(claim: Claim) -> dict[str, int]:
    out: dict[str, int] = {}
    for group in claim.daemons:
        if not (group.types & claim.types).any():
            continue
        own = dict(group.nanos)
        out = {name: min(n, own[name]) for name, n in out.items() if name in own} if out else own
    return out


def _texts(each: Requirement) -> list[str]:
    """Return a requirement as ``KEY OPERATOR VALUES``, once for each bound."""
    least = f" minValues {each.min_values}" if each.min_values is not None else ""
    if each.key == INSTANCE_TYPE:
        return [f"{each.key}{least}"] if least else []
    bounds = [(GTE, each.gte), (LTE, each.lte)]
    texts = [f"{each.key} {operator} {bound}{least}" for operator, bound in bounds if bound is not None]
    values = f" {','.join(sorted(each.values))}" if each.values else ""
    return texts or [f"{each.key} {each.operator}{values}{least}"]


def offer_of(node: NewNode) -> NodeOffer:
    """Return a NodeClaim as the node that its cheapest instance type makes of it."""
    return NodeOffer(
        group=f"NodePool {node.pool.name}",
        node=node_of(node, f"{NEW}{node.pool.name}"),
        types=tuple(each.name for each in node.types),
        zones=_values(node.labels, ZONE),
        capacity_types=_values(node.labels, CAPACITY_TYPE),
        price=node.types[0].price(node.labels) or None if node.types else None,
    )


def _values(requirements: Requirements, key: str) -> tuple[str, ...]:
    own = requirements.get(key)
    return tuple(sorted(own.values)) if own is not None and not own.complement else ()


def node_of(node: NewNode, name: str) -> Node:
    """Return the node that the cheapest instance type of a NodeClaim becomes, with its startup taints gone."""
    kind = node.types[0]
    fixed = {
        key: next(iter(each.values))
        for key, each in node.labels.items()
        if len(each.values) == 1 and not each.complement
    }
    launchable = [each for each in kind.offerings if each.is_launchable and is_offered(node.labels, each)]
    place = min(launchable, key=lambda each: (each.price, each.zone), default=None)
    labels = {**fixed, **type_labels(kind), NODE_POOL_LABEL: node.pool.name, HOSTNAME: name}
    if place is not None:
        labels |= {ZONE: place.zone, CAPACITY_TYPE: place.capacity_type}
    labels |= dict.fromkeys(LIFECYCLE, "true")
    offered = {each: quantity_text(max(amount, 0)) for each, amount in allocatable(kind).items()}
    return Node(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=NodeSpec(taints=node.pool.taints, provider_id=f"{NEW}{name}"),
        status=NodeStatus(
            capacity=kind.capacity, allocatable=dict(offered), conditions=(Condition(type="Ready", status="True"),)
        ),
    )
