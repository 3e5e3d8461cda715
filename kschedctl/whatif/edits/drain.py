"""``--drain NODE``: a node cordoned, and its pods evicted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.releases.release import Release
    from kschedctl.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class Drain(Edit):
    """A node cordoned, and its pods evicted as ``kubectl drain --force`` would, without asking disruption budgets.

    Pods of DaemonSets and mirror pods stay. Pods that have a controller wait for a node again, the others are gone.
    """

    option: ClassVar[Option] = Option(
        "--drain", "NODE", "What if this node were drained? Disruption budgets are not asked."
    )

    node: str

    def __str__(self) -> str:
        return f"drain {self.node}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Read ``NODE``."""
        return cls(text)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Mark the node unschedulable and evict its pods."""
        from kschedctl.whatif.eviction import evict
        from kschedctl.whatif.nodes import cordoned
        from kschedctl.whatif.targets import find_node

        row = find_node(cluster, self.node)
        evicted = evict(cordoned(cluster, row), cluster.pods.on_node(row).tolist(), node_bound_stay=True)
        return evicted.cluster, (f"node {self.node} is drained: {evicted}",)

    def things(self) -> Iterator[Thing]:
        """The node's being drained."""
        yield "drain", self.node
