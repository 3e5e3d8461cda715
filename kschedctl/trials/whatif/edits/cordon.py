"""``--cordon NODE``: marks a node unschedulable."""

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
class Cordon(NodeEdit):
    """An edit that marks nodes unschedulable."""

    option: ClassVar[Option] = Option(
        "--cordon", "NODE", "Answer as if the node were cordoned; 'gke-*' means all matching nodes."
    )

    node: str

    def __str__(self) -> str:
        return f"cordon {self.node}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE`` or a glob."""
        return cls(text)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Mark the nodes unschedulable."""
        from kschedctl.trials.whatif.nodes import cordoned

        rows = self.rows(cluster)
        n_before = sum(cluster.nodes.objects[row].spec.unschedulable for row in rows)
        change = nodes_in_words(cluster, rows, "is cordoned", "are cordoned")
        already = "already cordoned" if len(rows) == 1 else f"{n_before} already cordoned"
        change += f" ({already})" if n_before else ""
        return cordoned(cluster, rows), (change,)

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the cordon of the node."""
        yield "cordon", node
