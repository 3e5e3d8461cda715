"""The NodePools of a round: their order, and what a node of each may be (S/nodeclaimtemplate.go, P/provisioner.go)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.autoscaler.instance_types import RESERVED, InstanceType, InstanceTypes, Resources, TypeMask, narrowed
from kschedctl.autoscaler.karpenter.daemons import DaemonGroup, DaemonPod, daemon_groups
from kschedctl.autoscaler.karpenter.topology import Domains
from kschedctl.autoscaler.requirements import Requirements, added, requirement
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Taint
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool, holds
from kschedctl.objects.pod import PREFER_NO_SCHEDULE
from kschedctl.objects.selectors import IN

#: Labels that every node of Karpenter gets, for the sake of DaemonSets that select them.
LIFECYCLE: Sequence[str] = ("karpenter.sh/registered", "karpenter.sh/initialized")


@dataclass(frozen=True, eq=False)
class Pool:
    """A NodePool that may launch nodes."""

    pool: NodePool
    requirements: Requirements
    #: The instance types that meet its requirements, or none with the reason.
    types: InstanceTypes
    refusal: str = ""

    @property
    def name(self) -> str:
        return self.pool.name

    @cached_property
    def has_reservations(self) -> bool:
        """True if any of its instance types is offered as a reservation."""
        return any(each.capacity_type == RESERVED for kind in self.types.types for each in kind.offerings)

    @property
    def taints(self) -> tuple[Taint, ...]:
        return self.pool.spec.template.spec.taints


def usable_pools(cluster: Cluster, classes: Collection[str]) -> list[NodePool]:
    """Return the pools that launch nodes for pods, in the order in which they are tried.

    Args:
        classes: The API groups of NodeClasses that are Karpenter's own; empty for all.
    """
    pools = [
        each
        for each in cluster.list(NodePool)
        if (not classes or each.spec.template.spec.node_class_ref.group in classes)
        and each.spec.replicas is None
        and holds(each.status.conditions, "Ready")
        and each.metadata.deletion_timestamp is None
    ]
    by_name = sorted(pools, key=lambda each: each.name, reverse=True)
    return sorted(by_name, key=lambda each: -(each.spec.weight or 0))


def own_requirements(pool: NodePool) -> Requirements:
    """Return the requirements of a pool's template, with its labels."""
    spec, labels = pool.spec.template.spec, pool.spec.template.metadata.labels
    written = (requirement(each.key, each.operator, each.values, each.min_values) for each in spec.requirements)
    out = added({}, written)
    return added(out, (requirement(key, IN, (value,)) for key, value in labels.items()))


def template_requirements(pool: NodePool) -> Requirements:
    """Return the requirements that every node of a pool meets."""
    class_ = pool.spec.template.spec.node_class_ref
    labels = {
        NODE_POOL_LABEL: pool.name,
        f"{class_.group}/{class_.kind.lower()}": class_.name,
        **dict.fromkeys(LIFECYCLE, "true"),
    }
    return added(own_requirements(pool), (requirement(key, IN, (value,)) for key, value in labels.items()))


def types_of(pool: NodePool, types: Iterable[InstanceType]) -> list[InstanceType]:
    """Return the instance types that a pool's class offers it."""
    return [each for each in types if not each.node_pools or pool.name in each.node_pools]


def soft_taints(pools: Iterable[NodePool]) -> bool:
    """Report whether any pool has a taint that repels pods only if there is another node."""
    taints = (taint for each in pools for taint in each.spec.template.spec.taints)
    return any(taint.effect == PREFER_NO_SCHEDULE for taint in taints)


def unmet_min_values(types: InstanceTypes, mask: TypeMask, requirements: Requirements) -> dict[str, int]:
    """Return the keys of which the instance types have fewer values than a requirement wants, with their number."""
    if not mask.any():
        return {}
    out = {}
    for each in requirements.values():
        if each.min_values is not None:
            n = len(types.values(mask, each))
            if n < each.min_values:
                out[each.key] = n
    return out


def made(pool: NodePool, types: Sequence[InstanceType], resources: Resources, *, best_effort: bool) -> Pool:
    """Return a pool with the instance types that meet its requirements."""
    requirements = template_requirements(pool)
    every = InstanceTypes.of(types, resources)
    mask = every.meeting(requirements) & every.offered(requirements) & every.fitting(resources.amounts({}))
    refusal = ""
    unmet = unmet_min_values(every, mask, requirements)
    if unmet and not best_effort:
        refusal = " due to minValues incompatibility"
        mask = np.zeros_like(mask)
    if not mask.any():
        refusal = f"NodePool requirements filtered out all compatible available instance types{refusal}"
    left = [each for each, stays in zip(types, mask, strict=True) if stays]
    return Pool(pool, requirements, InstanceTypes.of(left, resources), refusal)


def pool_domains(pools: Sequence[NodePool], types: Sequence[Sequence[InstanceType]], key: str) -> Domains:
    """Return the values that nodes of the pools can have for a label, with the taints of these pools."""
    out: dict[str, set[tuple[Taint, ...]]] = {}
    for pool, own_types in zip(pools, types, strict=True):
        if not own_types:
            continue
        own = own_requirements(pool)
        values = narrowed(own_types, own, key)
        written = own.get(key)
        if written is not None and written.operator == IN:
            values |= written.values
        for value in values:
            out.setdefault(value, set()).add(pool.spec.template.spec.taints)
    return out


def groups_of(
    pools: Iterable[Pool], daemons: Sequence[DaemonPod], resources: Resources
) -> dict[str, list[DaemonGroup]]:
    """Return the daemons of new nodes, by the name of the pool."""
    return {each.name: daemon_groups(each.taints, each.requirements, each.types, daemons, resources) for each in pools}
