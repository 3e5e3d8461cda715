"""Node pools of Karpenter: the limits up to which they may add nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.objects.core import Node
from kschedctl.objects.custom_resources import NodePool
from kschedctl.objects.resources import format_amount, known_amounts

POOL: Final = "karpenter.sh/nodepool"


@dataclass(frozen=True, slots=True)
class FullPool:
    """A NodePool whose limit leaves no room for one more of its nodes."""

    name: str
    #: The used and the allowed amount by resource: milli-CPU, bytes or a count.
    used: Mapping[str, int]
    limit: Mapping[str, int]

    @property
    def cause(self) -> str:
        """The state as a clause."""
        parts = [
            f"{format_amount(name, limit)} {name} ({format_amount(name, self.used[name])} used)"
            for name, limit in self.limit.items()
        ]
        return f"NodePool {self.name} of Karpenter may add no such node: its limit is {listed(parts)}"

    @property
    def cure(self) -> str:
        """The cure in the imperative."""
        parts = [f"{name} (now {format_amount(name, limit)})" for name, limit in self.limit.items()]
        return f"raise the limit of NodePool {self.name} for {listed(parts)}"

    @property
    def command(self) -> str:
        return f"kubectl edit nodepools.karpenter.sh {self.name}    # spec.limits"


def full_pool(cluster: Cluster, node: Node) -> FullPool | None:
    """Return the pool of a node if its limit allows no further node like this one; else ``None``."""
    pool = cluster.get(NodePool, node.metadata.labels.get(POOL, ""))
    if pool is None or not pool.spec.limits:
        return None
    limits, used, more = (
        known_amounts(each) for each in (pool.spec.limits, pool.status.resources, node.status.capacity)
    )
    more = more or known_amounts(node.status.allocatable)
    full = {name: limit for name, limit in limits.items() if used.get(name, 0) + more.get(name, 0) > limit}
    return FullPool(pool.name, {name: used.get(name, 0) for name in full}, full) if full else None
