"""``--drain NODE``: cordons a node and evicts its pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.trials.whatif.edit import Option, Thing
from kschedctl.trials.whatif.node_edit import NodeEdit, nodes_in_words

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.releases.release import Release
    from kschedctl.trials.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class Drain(NodeEdit):
    """An edit that cordons nodes and evicts their pods, as ``kubectl drain --force`` does.

    DaemonSets and emptyDir volumes do not stop the drain (``--ignore-daemonsets --delete-emptydir-data``), and
    PodDisruptionBudgets are ignored. Pods of DaemonSets and mirror pods stay. Other pods are recreated as pending pods
    if they have a controller; pods without a controller are removed without replacement.
    """

    option: ClassVar[Option] = Option(
        "--drain", "NODE", "Answer as if the node were drained; disruption budgets are ignored."
    )

    node: str

    def __str__(self) -> str:
        return f"drain {self.node}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE`` or a glob."""
        return cls(text)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Mark the nodes unschedulable and evict their pods."""
        from kschedctl.trials.whatif.eviction import evict
        from kschedctl.trials.whatif.nodes import cordoned
        from kschedctl.trials.whatif.pods import freed_in_words

        rows = self.rows(cluster)
        pods = [index for row in rows for index in cluster.pods.on_node(row).tolist()]
        evicted = evict(cordoned(cluster, rows), pods, release=release, node_bound_stay=True)
        change = nodes_in_words(cluster, rows, "is drained", "are drained")
        told = str(evicted) if pods or len(rows) == 1 else "no pod is on them"
        return evicted.cluster, (f"{change}: {told}", *freed_in_words(evicted.freed))

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the drain of the node."""
        yield "drain", node
